//! `features probe` where it must not even connect: what cannot be tried, and why.

use super::plugin::{command, root};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-features");

#[track_caller]
fn is_refused(arguments: &[&str], sentence: &str) {
    let nowhere = root().join("absent");
    let nowhere = nowhere.to_str().expect("the path is UTF-8");
    let always = ["probe", "--kubeconfig", nowhere];
    let output = command(BINARY, &[&always[..], arguments].concat())
        .output()
        .expect("the binary was built by this test run");
    let said = String::from_utf8(output.stderr).expect("output is UTF-8");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with(sentence), "{said}");
}

#[test]
fn a_feature_that_no_pod_needs_is_a_usage_error_that_says_why() {
    for feature in [
        "DRANodeAllocatableResources",
        "DRAOptionalNodeOperations",
        "ExtendWebSocketsToKubelet",
        "GuaranteedQoSPodCPUResize",
    ] {
        is_refused(
            &["--feature", feature],
            &format!(
                "error: from 1.36 on no field of a Pod, and no update of one, needs {feature}: "
            ),
        );
    }
    is_refused(
        &["--feature", "Bogus"],
        "error: \"Bogus\" is no feature that nodes declare, in any version that is known\nhint: probe knows InPlacePod",
    );
}

#[test]
fn what_could_harm_has_to_be_asked_for() {
    is_refused(
        &["--feature", "UserNamespacesHostNetworkSupport"],
        "error: a Pod that needs UserNamespacesHostNetworkSupport is in the node's network, which only a privileged namespace allows\n\
         hint: if the namespace is one, add --allow-privileged-namespace\n",
    );
    let short = [
        "--feature",
        "RestartAllContainersOnContainerExits",
        "--ttl",
        "1s",
    ];
    is_refused(&short, "error: --ttl is shorter than --timeout: ");
}
