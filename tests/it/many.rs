//! Many Pods cost as much more as they are more: a large cluster must not be quadratic.
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::copies::Moment;
use wait4::Wait4;

use super::plugin::root;

/// Processor time of explaining so many Pods; it hangs less on what else the machine does than the time on the wall.
fn cost(moment: &Moment, pods: usize, folder: &Path) -> Duration {
    let path = folder.join(format!("{pods}.json"));
    let file = File::create(&path).expect("the folder is ours");
    let mut file = BufWriter::new(file);
    moment.write(pods, &mut file).expect("there is room for it");
    // It writes the rest when it goes.
    drop(file);
    let child = Command::new(env!("CARGO_BIN_EXE_kubectl-nominate"))
        .args(["explain", "-A", "--from"])
        .arg(&path)
        .env_clear()
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary was built by this test run");
    let used = child.wait4().expect("it ends");
    assert!(used.status.success(), "{}", used.status);
    used.rusage.utime
}

#[test]
fn four_times_the_pods_do_not_take_sixteen_times_as_long() {
    let recorded = root().join("tests/recorded/1.37/preemption-with-grace/1-waiting");
    let read = |name: &str| -> Value {
        let bytes = fs::read(recorded.join(name)).expect("it was recorded");
        serde_json::from_slice(&bytes).expect("the server wrote JSON")
    };
    let moment = Moment::of(
        &read("pods.json"),
        &read("events.json"),
        &read("nodes.json"),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let few = cost(&moment, 450, folder.path());
    let many = cost(&moment, 1_800, folder.path());
    // Linear is 4 and quadratic 16; what lies between is the machine's.
    assert!(many < few * 8, "450 Pods take {few:?}, 1800 take {many:?}");
}
