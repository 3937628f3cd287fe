//! What a user proves itself with, and whom it speaks for: alike for `kubectl get pod` and for `explain`.
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::error::Error;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::Cluster;

use crate::both::Due;
use crate::connections::Files;
use crate::machinery::{Check, block_on};
use crate::plugin::{kubectl, same};

pub(crate) const CHECKS: &[(&str, Check)] = &[
    (
        "connections::client_certificates_of_every_kind_of_key",
        client_certificates,
    ),
    (
        "connections::credential_plugins_run_as_for_kubectl",
        credential_plugins,
    ),
    (
        "connections::a_plugin_may_ask_who_sits_at_the_terminal",
        asks,
    ),
    (
        "connections::impersonation_is_that_of_kubectl",
        impersonation,
    ),
];

fn client_certificates(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let files = Files::new(cluster)?;
    let scratch = tempfile::tempdir()?;
    let identities = cluster.client_identities("viewer", scratch.path())?;
    for (form, identity) in &identities {
        files.write("sub/client.crt", &identity.certificate)?;
        files.write("sub/client.key", &identity.key)?;
        let data = format!(
            "client-certificate-data: '{}', client-key-data: '{}'",
            STANDARD.encode(&identity.certificate),
            STANDARD.encode(&identity.key)
        );
        for user in [
            "client-certificate: client.crt, client-key: client.key",
            &data,
        ] {
            let config = files.config("config", user)?;
            files
                .with(&config)
                .hold(cluster, Due::Works)
                .map_err(|error| format!("{form}: {error}"))?;
        }
    }
    same(&identities.len(), &4)?;
    // A certificate and the key of another, or half of it.
    files.write("sub/client.key", &identities[0].1.key)?;
    for (user, words) in [
        (
            "client-certificate: client.crt, client-key: client.key",
            "KeyMismatch",
        ),
        (
            "client-certificate: client.crt",
            "error: client-key-data or client-key must be specified for u to use the clientCert authentication method.\n",
        ),
        (
            "client-certificate: client.crt, client-key: absent",
            "absent",
        ),
    ] {
        let config = files.config("config", user)?;
        files.with(&config).hold(cluster, Due::Fails(words))?;
    }
    Ok(())
}

/// Writes a shell script that can be run.
fn script(path: &str, text: &str) -> Result<(), Box<dyn Error>> {
    fs::write(path, format!("#!/bin/sh\n{text}\n"))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

fn credential_plugins(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let files = Files::new(cluster)?;
    let scratch = tempfile::tempdir()?;
    let identities = cluster.client_identities("viewer", scratch.path())?;
    let (_, identity) = identities.first().ok_or("no identity")?;
    let token = json!({"token": files.token});
    let certificate =
        json!({"clientCertificateData": identity.certificate, "clientKeyData": identity.key});
    let expired = json!({"token": files.token, "expirationTimestamp": "2020-01-01T00:00:00Z"});
    let plugin = files.path("sub/plugin");
    let server = files.server.as_str();
    let extension =
        "extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: me}}]";
    let fields = format!(
        "server: '{server}', certificate-authority: ca.crt, tls-server-name: localhost, disable-compression: true, {extension}"
    );
    let exec = |version: &str, more: &str| {
        let user = format!(
            "exec: {{apiVersion: client.authentication.k8s.io/{version}, command: ./plugin{more}}}"
        );
        files.whole("config", &fields, &user, "current-context: x")
    };
    let mode =
        ", interactiveMode: Never, provideClusterInfo: true, args: [a], env: [{name: B, value: c}]";
    for version in ["v1", "v1beta1"] {
        for status in [&token, &certificate, &expired] {
            let answer = json!({
                "kind": "ExecCredential",
                "apiVersion": format!("client.authentication.k8s.io/{version}"),
                "status": status
            });
            files.write("sub/answer", &answer.to_string())?;
            let (told, answer) = (files.path("told"), files.path("sub/answer"));
            script(
                &plugin,
                &format!(
                    "printf '%s\\n' \"$(printf %s \"$KUBERNETES_EXEC_INFO\")\" >> {told}\necho \"$1 $B\" >> {told}\ncat {answer}"
                ),
            )?;
            fs::write(&told, "")?;
            let config = exec(version, mode)?;
            files.with(&config).hold(cluster, Due::Works)?;
            // kubectl and we told the plugin the same; we ran it last, and once.
            let text = fs::read_to_string(&told)?;
            let lines: Vec<&str> = text.lines().collect();
            let [.., by_kubectl, first, by_us, second] = lines.as_slice() else {
                return Err(format!("too little was told: {text}").into());
            };
            same(&(*first, *second), &("a c", "a c"))?;
            let told = |line: &str| serde_json::from_str::<Value>(line);
            same(&told(by_us)?, &told(by_kubectl)?)?;
            same(
                &told(by_us)?["spec"]["cluster"]["config"]["audience"],
                &json!("me"),
            )?;
        }
    }
    let unable = "Unable to connect to the server: getting credentials: exec";
    for (body, version, more, words) in [
        (
            "echo log in >&2; exit 7",
            "v1",
            mode,
            "failed with exit code 7\n",
        ),
        ("echo garbage", "v1", mode, unable),
        ("echo '{}'", "v1", mode, unable),
        ("cat answer", "v1", mode, unable),
        (
            "true",
            "v1",
            ", interactiveMode: Always",
            "exec plugin cannot support interactive mode: standard input is not a terminal\n",
        ),
        (
            "true",
            "v1",
            "",
            "error: interactiveMode must be specified for u to use exec authentication plugin\n",
        ),
        (
            "true",
            "v1alpha1",
            mode,
            "error: exec plugin: invalid apiVersion \"client.authentication.k8s.io/v1alpha1\"\n",
        ),
    ] {
        script(&plugin, body)?;
        let config = exec(version, more)?;
        let [get, explain] = files.with(&config).hold(cluster, Due::Fails(words))?;
        if words.ends_with('\n') {
            same(&explain.stderr.replace("/./", "/"), &get.stderr)?;
        }
    }
    // A token of the kubeconfig, or of a flag, makes the plugin needless.
    script(&plugin, "exit 1")?;
    let config = exec("v1", mode)?;
    let flags = ["--token", files.token.as_str()];
    files
        .with(&config)
        .flags(&flags)
        .hold(cluster, Due::Works)?;
    Ok(())
}

/// On a terminal a plugin may take longer than a request: it waits for a person. `script` makes one.
fn asks(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let files = Files::new(cluster)?;
    let answer = json!({
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1",
        "status": {"token": files.token}
    });
    let answer = files.write("sub/answer", &answer.to_string())?;
    let ask = format!("sleep 1\nread name\ntest \"$name\" = alice && cat {answer}");
    script(&files.path("sub/plugin"), &ask)?;
    let user = "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: Always}";
    let config = files.config("config", user)?;
    let plugin = Path::new(env!("CARGO_BIN_EXE_kubectl-nominate"));
    for program in [
        format!("{} get pod absent", cluster.kubectl().display()),
        format!(
            "{} explain absent --request-timeout 500ms",
            plugin.display()
        ),
    ] {
        let mut child = Command::new("script")
            .args(["-qec", &program, "/dev/null"])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", files.path(""))
            .env("KUBECONFIG", &config)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut keyboard = child.stdin.take().ok_or("no standard input")?;
        keyboard.write_all(b"alice\n")?;
        let output = child.wait_with_output()?;
        let screen = String::from_utf8(output.stdout)?;
        same(
            &screen.contains("(NotFound): pods \"absent\" not found"),
            &true,
        )
        .map_err(|error| format!("{program}: {error}: {screen}"))?;
    }
    Ok(())
}

/// A right that nobody gave to the one who is impersonated.
const ALICE: Due = Due::Refused("User \"alice\" cannot get resource \"pods\"");

/// The API server itself checks each header: this user may impersonate one user, group, UID and extra, and no other.
fn impersonation(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
    let role = |name: &str, rules: Value| {
        let kind = "ClusterRole";
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "rules": rules})
    };
    let binding = |name: &str, kind: &str, subject: &str| {
        let api = "rbac.authorization.k8s.io";
        json!({
            "apiVersion": format!("{api}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": api, "kind": kind, "name": subject}]
        })
    };
    let impersonate = |groups: &str, resource: &str, names: &[&str]| json!({"apiGroups": [groups], "resources": [resource], "verbs": ["impersonate"], "resourceNames": names});
    let rules = json!([
        impersonate("", "users", &["alice"]),
        impersonate("", "groups", &["ops", "staff"]),
        impersonate("authentication.k8s.io", "uids", &["7"]),
        impersonate("authentication.k8s.io", "userextras/team", &["a", "b"]),
        impersonate(
            "authentication.k8s.io",
            "userextras/example.com/role",
            &["x=y"]
        ),
    ]);
    let pods = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let made = [
        ("clusterroles", role("impersonator", rules)),
        (
            "clusterrolebindings",
            binding("impersonator", "User", "nobody"),
        ),
        ("clusterroles", role("ops-pods", pods)),
        ("clusterrolebindings", binding("ops-pods", "Group", "ops")),
    ];
    block_on(async {
        let admin = cluster.client("admin").await?;
        for (resource, object) in &made {
            admin.create(&format!("{RBAC}/{resource}"), object).await?;
        }
        Ok(())
    })?;
    let config = cluster.kubeconfig("nobody").display().to_string();
    let files = Files::new(cluster)?;
    for (flags, due) in [
        (vec!["--as", "alice"], ALICE),
        (vec!["--as", "alice", "--as-group", "staff"], ALICE),
        (
            vec!["--as", "alice", "--as-group", "staff", "--as-group", "ops"],
            Due::Works,
        ),
        (
            vec!["--as", "alice", "--as-uid", "7", "--as-group", "ops"],
            Due::Works,
        ),
        (
            vec!["--as", "alice", "--as-uid", "8"],
            Due::Refused("cannot impersonate resource \"uids\""),
        ),
        (
            vec![
                "--as",
                "alice",
                "--as-group",
                "ops",
                "--as-user-extra",
                "team=a",
                "--as-user-extra",
                "team=b",
            ],
            Due::Works,
        ),
        (
            vec![
                "--as",
                "alice",
                "--as-group",
                "ops",
                "--as-user-extra",
                "example.com/role=x=y",
            ],
            Due::Works,
        ),
        (
            vec!["--as", "alice", "--as-user-extra", "team=c"],
            Due::Refused("cannot impersonate resource \"userextras/team\""),
        ),
        (
            vec!["--as", "bob"],
            Due::Refused("cannot impersonate resource \"users\""),
        ),
        (
            vec!["--as", "alice", "--as-group", "root"],
            Due::Refused("cannot impersonate resource \"groups\""),
        ),
    ] {
        files.with(&config).flags(&flags).hold(cluster, due)?;
    }
    // The same, from the kubeconfig.
    let view = kubectl(
        cluster,
        "nobody",
        &[
            "config",
            "view",
            "--raw",
            "-o",
            "jsonpath={.users[0].user.token}",
        ],
    )?;
    let user = |more: &str| format!("token: '{}', {more}", view.stdout);
    for (more, due) in [
        (
            "as: alice, as-groups: [ops], as-uid: '7', as-user-extra: {team: [a, b]}",
            Due::Works,
        ),
        (
            "as: alice, as-groups: [ops], as-uid: '8'",
            Due::Refused("cannot impersonate resource \"uids\""),
        ),
        (
            "as: alice, as-user-extra: {team: [c]}",
            Due::Refused("cannot impersonate resource \"userextras/team\""),
        ),
    ] {
        let config = files.config("config", &user(more))?;
        files.with(&config).hold(cluster, due)?;
    }
    block_on(async {
        let admin = cluster.client("admin").await?;
        for (resource, object) in &made {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            admin
                .delete(&format!("{RBAC}/{resource}/{name}"), None)
                .await?;
        }
        Ok(())
    })
}
