//! What a user proves itself with: token files, credential plugins, what is refused, and that no secret is ever shown.
#![expect(
    clippy::disallowed_methods,
    reason = "a test reads files and looks at the clock"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::fake_server::{Answer, FakeServer, Routes, refusals};

use super::connections::{POD, explain, kubeconfig, secure};
use super::plugin::{Run, command};
use super::signals::send;

const SECRET: &str = "hunter2-token";
const NOT_FOUND: &str = "Error from server (NotFound): pods \"web\" not found\n";

/// Writes a shell script that can be run.
pub(super) fn script(folder: &Path, text: &str) {
    let path = folder.join("plugin");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("the folder takes a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// A plugin's answer in one version.
fn answer(version: &str, status: &str) -> String {
    format!(
        r#"echo '{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/{version}","status":{status}}}'"#
    )
}

pub(super) fn exec(version: &str, more: &str) -> String {
    format!("exec: {{apiVersion: client.authentication.k8s.io/{version}, command: ./plugin{more}}}")
}

/// The values of the header that tells who asks, as the server got them.
fn authorizations(server: &FakeServer) -> Vec<Option<String>> {
    let requests = server.requests();
    let of = |request: &testkit::fake_server::Request| {
        request.header("authorization").map(str::to_owned)
    };
    requests.iter().map(of).collect()
}

/// Fails with these lines, whatever else is on stderr before them, and tells no secret, also at -v 9.
#[track_caller]
fn refuses(config: &Path, lines: &str) -> Run {
    let run = explain(config, &["-v", "9"], &[("PATH", "/usr/bin:/bin")]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(1), ""),
        "{}",
        run.stderr
    );
    assert!(run.stderr.ends_with(lines), "{}", run.stderr);
    assert!(!run.stderr.contains(SECRET), "{}", run.stderr);
    run
}

#[test]
fn a_token_file_is_read_without_its_line_end_and_wins_over_the_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, cluster) = secure(folder.path());
    fs::write(folder.path().join("token"), format!("{SECRET}\r\n")).expect("a file");
    let config = kubeconfig(folder.path(), &cluster, "tokenFile: token, token: other");
    refuses(&config, NOT_FOUND);
    // It is read anew by each command.
    fs::write(folder.path().join("token"), "second\n").expect("a file");
    refuses(&config, NOT_FOUND);
    let due = [format!("Bearer {SECRET}"), "Bearer second".to_owned()];
    assert_eq!(authorizations(&server), due.map(Some));
    fs::remove_file(folder.path().join("token")).expect("it is there");
    let path = folder.path().join("token").display().to_string();
    refuses(
        &config,
        &format!(
            "error: the token file {path:?} of the user \"u\" cannot be read\ncaused by: No such file or directory (os error 2)\n"
        ),
    );
}

#[test]
fn nothing_is_proved_over_plain_http() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeServer::start(Routes::new());
    script(folder.path(), "echo ran >&2");
    let cluster = format!("server: \"{}\"", server.url());
    for user in [
        format!("token: {SECRET}"),
        exec("v1", ", interactiveMode: Never"),
    ] {
        let config = kubeconfig(folder.path(), &cluster, &format!("{user}, as: alice"));
        let run = refuses(&config, NOT_FOUND);
        assert!(!run.stderr.contains("ran"), "{}", run.stderr);
    }
    assert_eq!(authorizations(&server), [None, None]);
    let asked = server.requests();
    assert_eq!(asked[0].header("impersonate-user"), Some("alice"));
}

#[test]
fn a_password_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, cluster) = secure(folder.path());
    let basic = format!("username: alice, password: {SECRET}");
    refuses(
        &kubeconfig(folder.path(), &cluster, &basic),
        "error: the user \"u\" has only a user name and a password, which API servers no longer take\n\
         hint: use a token, a client certificate or a credential plugin\n",
    );
    refuses(
        &kubeconfig(
            folder.path(),
            &cluster,
            &format!("{basic}, token: {SECRET}"),
        ),
        "error: more than one authentication method found for u; found [token basicAuth], only one is allowed\n",
    );
    let gone = format!("auth-provider: {{name: gcp, config: {{access-token: {SECRET}}}}}");
    refuses(
        &kubeconfig(folder.path(), &cluster, &gone),
        "error: the user \"u\" needs the auth provider \"gcp\", which kubectl does not have any more\n\
         hint: use the credential plugin (exec) of that provider\n",
    );
    assert_eq!(server.requests(), []);
}

#[test]
fn a_plugins_token_is_sent_and_never_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, cluster) = secure(folder.path());
    let told = folder.path().join("told");
    for (version, mode, body) in [
        (
            "v1",
            ", interactiveMode: IfAvailable",
            answer("v1", &format!(r#"{{"token":"{SECRET}"}}"#)),
        ),
        (
            "v1beta1",
            "",
            answer(
                "v1beta1",
                &format!(r#"{{"token":"{SECRET}","expirationTimestamp":"2020-01-01T00:00:00Z"}}"#),
            ),
        ),
        // YAML, as client-go takes it.
        (
            "v1",
            ", interactiveMode: Never",
            format!(
                "printf 'kind: ExecCredential\\napiVersion: client.authentication.k8s.io/v1\\nstatus:\\n  token: {SECRET}\\n'"
            ),
        ),
    ] {
        fs::write(&told, "").expect("a file");
        script(
            folder.path(),
            &format!(
                "printf %s \"$KUBERNETES_EXEC_INFO\" >> {}\necho \"$1 $COLOUR\" >&2\n{body}",
                told.display()
            ),
        );
        let more = format!(
            "{mode}, args: [first], env: [{{name: COLOUR, value: blue}}], provideClusterInfo: true"
        );
        let config = kubeconfig(folder.path(), &cluster, &exec(version, &more));
        let run = refuses(&config, NOT_FOUND);
        assert!(run.stderr.contains("first blue\n"), "{}", run.stderr);
        // One document: it ran once.
        let text = fs::read_to_string(&told).expect("it was written");
        let told: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(told["kind"], "ExecCredential");
        assert_eq!(
            told["apiVersion"],
            format!("client.authentication.k8s.io/{version}")
        );
        assert_eq!(told["spec"]["interactive"], false, "nobody can type");
        assert_eq!(told["spec"]["cluster"]["server"], server.url());
        assert!(told["spec"]["cluster"]["certificate-authority-data"].is_string());
    }
    let due = Some(format!("Bearer {SECRET}"));
    assert_eq!(authorizations(&server), [due.clone(), due.clone(), due]);
}

/// Credentials that a server takes for none are got anew, once for each request.
#[test]
fn what_has_expired_is_renewed() {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = testkit::Authority::new("test").expect("an authority");
    let identity = authority
        .server("test", &["127.0.0.1"])
        .expect("a certificate");
    fs::write(folder.path().join("ca.crt"), authority.certificate()).expect("a file");
    let missing = refusals::not_found(refusals::Resource::core("pods"), "web");
    let last = "error: You must be logged in to the server (Unauthorized)\n";
    let counts = "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n";
    let plugin = exec("v1", ", interactiveMode: Never");
    for (answers, user, due, lines) in [
        (
            vec![refusals::unauthorized(), missing.clone()],
            plugin.as_str(),
            vec!["1", "2"],
            NOT_FOUND,
        ),
        (
            vec![refusals::unauthorized()],
            &plugin,
            vec!["1", "2"],
            last,
        ),
        (
            vec![refusals::unauthorized(), missing.clone()],
            "token: '1'",
            vec!["1"],
            last,
        ),
    ] {
        let n = folder.path().join("n");
        fs::write(&n, "0\n").expect("a file");
        let status = r#"{"token":"'$n'"}"#;
        script(
            folder.path(),
            &format!(
                "cd {}\n{counts}\n{}",
                folder.path().display(),
                answer("v1", status)
            ),
        );
        let routes = Routes::new().get(POD, Answer::Sequence(answers));
        let server = FakeServer::start_tls(routes, &identity);
        let cluster = format!(
            "server: \"{}\", certificate-authority: ca.crt",
            server.url()
        );
        refuses(&kubeconfig(folder.path(), &cluster, user), lines);
        let due: Vec<Option<String>> = due.iter().map(|n| Some(format!("Bearer {n}"))).collect();
        assert_eq!(authorizations(&server), due);
    }
}

#[test]
fn a_plugin_that_gives_nothing_is_told_by_what_it_did() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, cluster) = secure(folder.path());
    let plugin = folder.path().join("./plugin").display().to_string();
    let unable =
        |rest: &str| format!("Unable to connect to the server: getting credentials: {rest}\n");
    let no_credential = |what: &str| {
        unable(&format!(
            "exec: executable {plugin} printed what is no ExecCredential ({what})"
        ))
    };
    let failed = format!("echo log in first >&2; echo {SECRET}; exit 7");
    let other = answer("v1beta1", &format!(r#"{{"token":"{SECRET}"}}"#));
    for (body, lines) in [
        (
            failed.as_str(),
            format!(
                "log in first\n{}hint: install it\nhint: with care\n",
                unable(&format!(
                    "exec: executable {plugin} failed with exit code 7"
                ))
            ),
        ),
        (&format!("echo {SECRET}"), no_credential("line 1, column 1")),
        ("true", no_credential("nothing")),
        (
            &format!("echo '{{\"kind\":\"Pod\",\"token\":\"{SECRET}\"}}'"),
            no_credential("its kind is another"),
        ),
        (&answer("v1", "null"), no_credential("without a status")),
        (
            &answer("v1", "{}"),
            unable("exec plugin didn't return a token or cert/key pair"),
        ),
        (
            &answer("v1", &format!(r#"{{"clientKeyData":"{SECRET}"}}"#)),
            unable("exec plugin returned only certificate or key, not both"),
        ),
        (
            &other,
            unable(
                "exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin returned version client.authentication.k8s.io/v1beta1",
            ),
        ),
        // More than any credential, without end.
        (
            &format!("while :; do echo {SECRET}; done"),
            unable(&format!("exec: executable {plugin} failed with a signal"))
                + "hint: install it\nhint: with care\n",
        ),
    ] {
        script(folder.path(), body);
        let more = r#", interactiveMode: Never, installHint: "install it\n\nwith care""#;
        let config = kubeconfig(folder.path(), &cluster, &exec("v1", more));
        refuses(&config, &lines);
    }
    for (user, line) in [
        (
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin, interactiveMode: Never, installHint: get it}",
            unable("exec: executable no-such-plugin not found") + "hint: get it\n",
        ),
        (
            &exec("v1", ""),
            "error: interactiveMode must be specified for u to use exec authentication plugin\n"
                .to_owned(),
        ),
        (
            &exec("v1alpha1", ", interactiveMode: Never"),
            "error: exec plugin: invalid apiVersion \"client.authentication.k8s.io/v1alpha1\"\n"
                .to_owned(),
        ),
        (
            &exec("v1", ", interactiveMode: Always"),
            unable("exec plugin cannot support interactive mode: standard input is not a terminal"),
        ),
    ] {
        refuses(&kubeconfig(folder.path(), &cluster, user), &line);
    }
    assert_eq!(server.requests(), []);
}

/// Waits until the process that wrote its id into the file has gone; the kernel tells nobody who is not its parent.
#[track_caller]
fn goes(pid: &Path) {
    let pid = fs::read_to_string(pid).expect("the plugin wrote its id");
    let begun = Instant::now();
    loop {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        // One that has ended and was not yet asked how is gone as well.
        if stat.is_empty() || stat.contains(") Z ") {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "still there: {stat}"
        );
        std::thread::yield_now();
    }
}

#[test]
fn a_plugin_that_hangs_ends_with_the_time_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, cluster) = secure(folder.path());
    let pid = folder.path().join("pid");
    script(
        folder.path(),
        &format!("echo $$ > {}\nexec sleep 600", pid.display()),
    );
    let config = kubeconfig(
        folder.path(),
        &cluster,
        &exec("v1", ", interactiveMode: IfAvailable"),
    );
    let begun = Instant::now();
    let limit = ["--request-timeout", "700ms"];
    let run = explain(&config, &limit, &[("PATH", "/usr/bin:/bin")]);
    let plugin = folder.path().join("./plugin").display().to_string();
    let lines = format!(
        "Unable to connect to the server: getting credentials: exec: executable {plugin} gave no credentials within 0.7s\n\
         hint: give it more time with --request-timeout\n"
    );
    assert_eq!((run.code, run.stderr), (Some(1), lines));
    assert!(begun.elapsed() < Duration::from_secs(20));
    goes(&pid);
}

/// SIGTERM reaches the command alone, not its terminal's group: it takes the plugin with it.
#[test]
fn a_signal_ends_the_plugin_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, cluster) = secure(folder.path());
    let (pid, fifo) = (folder.path().join("pid"), folder.path().join("fifo"));
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("there is a mkfifo").success());
    script(
        folder.path(),
        &format!(
            "echo $$ > {}\necho > {}\nexec sleep 600",
            pid.display(),
            fifo.display()
        ),
    );
    let config = kubeconfig(
        folder.path(),
        &cluster,
        &exec("v1", ", interactiveMode: Never"),
    );
    let config = config.to_str().expect("the path is UTF-8");
    let child = command(
        env!("CARGO_BIN_EXE_kubectl-nominate"),
        &["explain", "web", "--kubeconfig", config],
    )
    .env("PATH", "/usr/bin:/bin")
    .stdin(Stdio::null())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the binary was built by this test run");
    // Blocks until the plugin has come so far.
    fs::read(&fifo).expect("the plugin writes");
    send("-TERM", &child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        (output.status.code(), output.stderr),
        (Some(143), Vec::new())
    );
    goes(&pid);
}
