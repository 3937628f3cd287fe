//! Every way that kubectl has to a server: whatever works for `kubectl get pod` works for `explain`, and nothing else does.
//!
//! What differs on purpose is named as such in a row, and in docs/connections.md.
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::error::Error;
use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use testkit::fake_server::{Answer, FakeServer, Reply, Routes};
use testkit::{Authority, Cluster, Fault};

use crate::both::{Conditions, Due};
use crate::machinery::Check;
use crate::plugin::{kubectl, same};

pub(crate) const CHECKS: &[(&str, Check)] = &[
    (
        "connections::answers_of_strangers_are_told_as_by_kubectl",
        strangers,
    ),
    (
        "connections::kubeconfigs_choose_as_for_kubectl",
        kubeconfigs,
    ),
    (
        "connections::in_a_pod_its_service_account_is_used",
        in_a_pod,
    ),
    (
        "connections::certificates_are_refused_as_by_kubectl",
        refused_certificates,
    ),
];

/// A folder with kubeconfigs in it.
pub(crate) struct Files {
    folder: tempfile::TempDir,
    home: tempfile::TempDir,
    pub(crate) server: String,
    pub(crate) token: String,
}

impl Files {
    pub(crate) fn new(cluster: &Cluster) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("sub"))?;
        fs::copy(cluster.authority(), folder.path().join("sub/ca.crt"))?;
        let path = "jsonpath={.users[0].user.token}";
        let view = kubectl(cluster, "viewer", &["config", "view", "--raw", "-o", path])?;
        let files = Self {
            folder,
            home: tempfile::tempdir()?,
            server: cluster.server().to_owned(),
            token: view.stdout,
        };
        // kubectl looks first what a server has; whoever is refused there gets other words than for the Pod.
        let config = files.config("warm", &files.token())?;
        files.with(&config).run(cluster, &["get", "pod"])?;
        Ok(files)
    }

    pub(crate) fn conditions(&self) -> Conditions<'_> {
        Conditions::at(self.home.path())
    }

    /// Under a kubeconfig, or a list of them.
    pub(crate) fn with<'a>(&'a self, kubeconfigs: &'a str) -> Conditions<'a> {
        self.conditions().variables(&[("KUBECONFIG", kubeconfigs)])
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Result<String, Box<dyn Error>> {
        fs::write(self.path(name), text)?;
        Ok(self.path(name))
    }

    /// A kubeconfig beside the authority's certificate, for the cluster's server.
    pub(crate) fn config(&self, name: &str, user: &str) -> Result<String, Box<dyn Error>> {
        let server = &self.server;
        let cluster = format!("server: '{server}', certificate-authority: ca.crt");
        self.whole(name, &cluster, user, "current-context: x")
    }

    /// A kubeconfig with one context; fields are in YAML's flow style.
    pub(crate) fn whole(
        &self,
        name: &str,
        cluster: &str,
        user: &str,
        current: &str,
    ) -> Result<String, Box<dyn Error>> {
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n{current}\n"
        );
        self.write(&format!("sub/{name}"), &text)
    }

    pub(crate) fn token(&self) -> String {
        format!("token: {}", self.token)
    }
}

fn kubeconfigs(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    const NOBODY: Due = Due::Refused("You must be logged in to the server");
    let files = Files::new(cluster)?;
    let server = files.server.as_str();
    let token = files.token.as_str();
    let trusted = format!("server: '{server}', certificate-authority: ca.crt");
    let good = files.config("good", &files.token())?;
    let bad_user = files.config("bad-user", "token: wrong")?;
    let dead = files.whole(
        "dead",
        "server: 'https://127.0.0.1:1'",
        &files.token(),
        "current-context: x",
    )?;
    let none = files.path("absent");
    let broken = files.write("sub/broken", "clusters: [\n")?;
    let empty = files.write("sub/empty", "")?;
    // Each says one thing.
    let only_cluster = files.write(
        "sub/1",
        &format!("clusters: [{{name: c, cluster: {{{trusted}}}}}]\ncurrent-context: ''\n"),
    )?;
    let only_user = files.write(
        "sub/2",
        &format!("users: [{{name: u, user: {{token: '{token}'}}}}]\n"),
    )?;
    let only_context = files.write(
        "sub/3",
        "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n",
    )?;
    let other_context = files.write("sub/4", "current-context: gone\n")?;
    let adrift = files.write("sub/5", &format!("clusters: [{{name: c, cluster: {{{trusted}}}}}]\ncontexts: [{{name: x, context: {{cluster: gone, user: u}}}}]\ncurrent-context: x\n"))?;
    let aimless = files.whole("aimless", &trusted, &files.token(), "")?;
    let dangling = files.whole(
        "dangling",
        &trusted,
        &files.token(),
        "current-context: gone",
    )?;
    files.write("sub/token", &format!("{token}\n"))?;
    files.write("sub/wrong", "wrong\n")?;
    let token_file = files.config("token-file", "tokenFile: token")?;
    let both_tokens = files.config("both-tokens", "tokenFile: token, token: wrong")?;
    let wrong_file = files.config("wrong-file", &format!("tokenFile: wrong, token: '{token}'"))?;
    let no_file = files.config("no-file", "tokenFile: absent")?;
    let password = files.config("password", "username: a, password: b")?;
    let two_ways = files.config(
        "two-ways",
        &format!("username: a, password: b, token: '{token}'"),
    )?;
    let careless = files.whole(
        "careless",
        &format!("server: '{server}', insecure-skip-tls-verify: true"),
        &files.token(),
        "current-context: x",
    )?;
    let torn = files.whole(
        "torn",
        &format!("{trusted}, insecure-skip-tls-verify: true"),
        &files.token(),
        "current-context: x",
    )?;
    let no_authority = files.whole(
        "no-authority",
        &format!("server: '{server}', certificate-authority: absent"),
        &files.token(),
        "current-context: x",
    )?;
    let named = files.whole(
        "named",
        &format!("{trusted}, tls-server-name: other.example"),
        &files.token(),
        "current-context: x",
    )?;
    let with_data = {
        let authority = STANDARD.encode(fs::read(cluster.authority())?);
        let fields = format!("server: '{server}', certificate-authority-data: '{authority}'");
        files.whole("data", &fields, &files.token(), "current-context: x")?
    };
    let bare_address = server.trim_start_matches("https://");
    let ca = files.path("sub/ca.crt");
    let list = |paths: &[&str]| paths.join(":");
    for (kubeconfigs, flags, due) in [
        // Lists: the first to say something wins, missing files and empty words are nothing.
        (list(&[&good, &bad_user, &dead]), vec![], Due::Works),
        (list(&[&bad_user, &good]), vec![], NOBODY),
        (list(&["", &none, &good, ""]), vec![], Due::Works),
        (
            list(&[&only_cluster, &only_user, &only_context]),
            vec![],
            Due::Works,
        ),
        (
            list(&[&only_context, &only_user, &only_cluster, &dead]),
            vec![],
            Due::Works,
        ),
        (
            list(&[&other_context, &good]),
            vec![],
            Due::Fails("context was not found for specified context: gone"),
        ),
        (
            list(&[&good, &broken]),
            vec![],
            Due::Fails("cannot be read"),
        ),
        (list(&[&empty, &good]), vec![], Due::Works),
        (list(&[&bad_user]), vec!["--kubeconfig", &good], Due::Works),
        (
            list(&[&good]),
            vec!["--kubeconfig", &none],
            Due::Fails("does not exist"),
        ),
        // A context that is not there, or leads nowhere.
        (
            list(&[&none]),
            vec![],
            Due::Fails("no kubeconfig was found"),
        ),
        (
            list(&[&aimless]),
            vec![],
            Due::Fails("the kubeconfig has no current-context"),
        ),
        (
            list(&[&dangling]),
            vec![],
            Due::Fails("context was not found for specified context: gone"),
        ),
        (list(&[&dangling]), vec!["--context", "x"], Due::Works),
        (list(&[&aimless]), vec!["--context", "x"], Due::Works),
        (
            list(&[&aimless]),
            vec!["--cluster", "c", "--user", "u"],
            Due::Works,
        ),
        (
            list(&[&good]),
            vec!["--context", "gone"],
            Due::Fails("context was not found for specified context: gone"),
        ),
        (
            list(&[&good]),
            vec!["--cluster", "gone"],
            Due::Fails("error: no server found for cluster \"gone\"\n"),
        ),
        (
            list(&[&good]),
            vec!["--cluster", "gone", "--server", server],
            Due::Fails("error: no server found for cluster \"gone\"\n"),
        ),
        (
            list(&[&good]),
            vec!["--user", "gone"],
            Due::Fails("error: auth info \"gone\" does not exist\n"),
        ),
        (
            list(&[&adrift]),
            vec![],
            Due::Fails("error: no server found for cluster \"gone\"\n"),
        ),
        // Tokens.
        (list(&[&token_file]), vec![], Due::Works),
        (list(&[&both_tokens]), vec![], Due::Works),
        (list(&[&wrong_file]), vec![], NOBODY),
        (
            list(&[&wrong_file]),
            vec!["--token", token],
            Due::WorksHereOnly,
        ),
        (list(&[&no_file]), vec![], Due::Fails("the token file ")),
        (list(&[&bad_user]), vec!["--token", token], Due::Works),
        (list(&[&good]), vec!["--token", "wrong"], NOBODY),
        (
            list(&[&password]),
            vec![],
            Due::Fails("has only a user name and a password"),
        ),
        (
            list(&[&two_ways]),
            vec![],
            Due::Fails(
                "error: more than one authentication method found for u; found [token basicAuth], only one is allowed\n",
            ),
        ),
        // Servers and their certificates.
        (
            list(&[&dead]),
            vec!["--server", server, "--certificate-authority", &ca],
            Due::Works,
        ),
        (
            list(&[&dead]),
            vec![],
            Due::Fails(
                "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n",
            ),
        ),
        (
            list(&[&good]),
            vec!["--server", bare_address],
            Due::Fails("it speaks HTTPS; its URL has to begin with https://"),
        ),
        (
            list(&[&good]),
            vec!["--server", "https://127.0.0.1:1x"],
            Due::Fails("error: host must be a URL or a host:port pair: \"https://127.0.0.1:1x\"\n"),
        ),
        (list(&[&careless]), vec![], Due::Works),
        (
            list(&[&careless]),
            vec!["--certificate-authority", &ca],
            Due::Works,
        ),
        (
            list(&[&torn]),
            vec![],
            Due::Fails(
                "error: specifying a root certificates file with the insecure flag is not allowed\n",
            ),
        ),
        (
            list(&[&torn]),
            vec!["--insecure-skip-tls-verify"],
            Due::Works,
        ),
        (
            list(&[&no_authority]),
            vec![],
            Due::Fails("error: the certificate authority cannot be used: "),
        ),
        (
            list(&[&good]),
            vec!["--certificate-authority", &token_file],
            Due::Fails("it holds no certificate (PEM)"),
        ),
        (list(&[&with_data]), vec![], Due::Works),
        (
            list(&[&named]),
            vec![],
            Due::Fails(
                "not for other.example; if that is the same server, name one of them with --tls-server-name",
            ),
        ),
        (
            list(&[&named]),
            vec!["--tls-server-name", "kubernetes.default.svc"],
            Due::Works,
        ),
        // A name in the kubeconfig is that of its own server.
        (list(&[&named]), vec!["--server", server], Due::Works),
        (
            list(&[&good]),
            vec!["--tls-server-name", "localhost"],
            Due::Works,
        ),
        (
            list(&[&good]),
            vec![
                "--request-timeout",
                "5s",
                "--disable-compression",
                "--cache-dir",
                &none,
            ],
            Due::Works,
        ),
    ] {
        let conditions = files.with(&kubeconfigs).flags(&flags);
        let [get, explain] = conditions.hold(cluster, due)?;
        // kubectl's own sentences, where we say we have them.
        if let Due::Fails(words) = due
            && words.starts_with("error: ")
            && words.ends_with('\n')
            && kubeconfigs != adrift
        {
            same(&get.stderr, &explain.stderr)?;
        }
    }
    Ok(())
}

/// A mount namespace that has what a kubelet gives a Pod, and nothing else in /run.
const POD: &str = "set -e
mount -t tmpfs none /run
folder=/var/run/secrets/kubernetes.io/serviceaccount
mkdir -p $folder
cp \"$SECRETS\"/* $folder
exec \"$@\"";

fn in_a_pod(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let files = Files::new(cluster)?;
    let token = kubectl(cluster, "admin", &["create", "token", "default"])?.stdout;
    let secrets = tempfile::tempdir()?;
    let secret = |name: &str, text: &str| fs::write(secrets.path().join(name), text);
    secret("token", &token)?;
    secret("namespace", "kube-public")?;
    fs::copy(cluster.authority(), secrets.path().join("ca.crt"))?;
    let good = files.config("good", &files.token())?;
    let aimless = {
        let fields = format!("server: '{}', certificate-authority: ca.crt", files.server);
        files.whole("aimless", &fields, &files.token(), "")?
    };
    let none = files.path("absent");
    let secrets_path = secrets.path().display().to_string();
    let address = files.server.trim_start_matches("https://");
    let (host, port) = address.split_once(':').ok_or("a server without a port")?;
    let (host, port) = (
        ("KUBERNETES_SERVICE_HOST", host),
        ("KUBERNETES_SERVICE_PORT", port),
    );
    let elsewhere = ("POD_NAMESPACE", "kube-system");
    let run =
        |variables: &[(&str, &str)], flags: &[&str], due: Due| -> Result<(), Box<dyn Error>> {
            let secrets = [("SECRETS", secrets_path.as_str())];
            let mut conditions = files
                .conditions()
                .variables(&secrets)
                .variables(variables)
                .flags(flags);
            conditions.wrapper = vec!["unshare", "--mount", "sh", "-c", POD, "sh"];
            conditions.hold(cluster, due).map(drop)
        };
    let of_the_account = |namespace: &str| match namespace {
        "kube-public" => Due::Refused(
            "User \"system:serviceaccount:default:default\" cannot get resource \"pods\" in API group \"\" in the namespace \"kube-public\"",
        ),
        _ => Due::Refused(
            "User \"system:serviceaccount:default:default\" cannot get resource \"pods\" in API group \"\" in the namespace \"kube-system\"",
        ),
    };
    let public = of_the_account("kube-public");
    run(&[host, port], &[], public)?;
    run(&[host, port, elsewhere], &[], of_the_account("kube-system"))?;
    run(
        &[host, port],
        &["-n", "kube-system"],
        of_the_account("kube-system"),
    )?;
    run(
        &[host, port],
        &["--token", "wrong"],
        Due::Refused("You must be logged in to the server"),
    )?;
    // A kubeconfig with a context comes first; without one it is as if it were not there.
    run(&[host, port, ("KUBECONFIG", &good)], &[], Due::Works)?;
    run(&[host, port, ("KUBECONFIG", &none)], &[], public)?;
    run(&[host, port, ("KUBECONFIG", &aimless)], &[], public)?;
    run(&[host, port], &["--kubeconfig", &aimless], public)?;
    run(
        &[host, port, ("KUBECONFIG", &aimless)],
        &["--cluster", "c", "--user", "u", "-n", "default"],
        Due::Works,
    )?;
    run(
        &[host, port],
        &["--context", "x"],
        Due::Fails("context was not found for specified context: x"),
    )?;
    // Not a Pod without all of it.
    run(&[host], &[], Due::Fails("no kubeconfig was found"))?;
    run(&[port], &[], Due::Fails("no kubeconfig was found"))?;
    // kubectl forgets the Pod here; we ask the server, which says no.
    let conditions = {
        let secrets = [("SECRETS", secrets_path.as_str()), host, port];
        let mut conditions = files
            .conditions()
            .variables(&secrets)
            .flags(&["--as", "alice"]);
        conditions.wrapper = vec!["unshare", "--mount", "sh", "-c", POD, "sh"];
        conditions
    };
    let explain = conditions.run(cluster, &["nominate", "explain"])?;
    let words = "User \"system:serviceaccount:default:default\" cannot impersonate";
    same(&explain.stderr.contains(words), &true)
        .map_err(|error| format!("{error}: {explain:?}"))?;
    fs::remove_file(secrets.path().join("namespace"))?;
    run(
        &[host, port],
        &[],
        Due::Refused("in the namespace \"default\""),
    )?;
    fs::remove_file(secrets.path().join("token"))?;
    run(&[host, port], &[], Due::Fails("no kubeconfig was found"))
}

/// What a load balancer or a gateway answers instead of the API server.
fn strangers(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    const POD: &str = "/api/v1/namespaces/default/pods/absent";
    let files = Files::new(cluster)?;
    let group = json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []});
    let pods = json!({"name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod", "verbs": ["get"]});
    let resources = json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [pods]});
    for status in [
        400, 403, 404, 405, 406, 408, 409, 410, 413, 415, 418, 429, 500, 501, 502, 503, 504,
    ] {
        for kind in ["text/plain", "application/json"] {
            let routes = Routes::new()
                .get(
                    "/api",
                    Answer::json(&json!({"kind": "APIVersions", "versions": ["v1"]})),
                )
                .get("/apis", Answer::json(&group))
                .get("/api/v1", Answer::json(&resources))
                .get(POD, Reply::new(status, kind, "try \"later\"\n"));
            let server = FakeServer::start(routes);
            let fields = format!("server: '{}'", server.url());
            let config = files.whole("config", &fields, "", "current-context: x")?;
            let conditions = files.with(&config);
            let get = conditions.run(cluster, &["get", "pod"])?;
            let explain = conditions.run(cluster, &["nominate", "explain"])?;
            // kubectl says in the end whom it asked for.
            let due = get.stderr.replace(" (get pods absent)", "");
            same(&(explain.code, &explain.stderr), &(Some(1), &due))
                .map_err(|error| format!("{status} {kind}: {error}"))?;
            same(&due.starts_with("Error from server"), &true)?;
        }
    }
    Ok(())
}

/// Both refuse the same certificates, apart from what the TLS libraries do not agree on.
fn refused_certificates(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let files = Files::new(cluster)?;
    let authority = Authority::new("test")?;
    files.write("sub/test.crt", &authority.certificate())?;
    for (fault, by_kubectl, by_us) in [
        (Fault::NoName, true, true),
        (Fault::OtherNames, true, true),
        (Fault::Expired, true, true),
        (Fault::NotYetValid, true, true),
        // docs/connections.md names it.
        (Fault::AuthorityItself, false, true),
    ] {
        let identity = authority.faulty_server(fault)?;
        let server = FakeServer::start_tls(Routes::new(), &identity);
        let fields = format!(
            "server: '{}', certificate-authority: test.crt",
            server.url()
        );
        let config = files.whole("config", &fields, "token: x", "current-context: x")?;
        let conditions = files.with(&config);
        let refuses = |words: &[&str]| -> Result<bool, Box<dyn Error>> {
            let run = conditions.run(cluster, words)?;
            Ok(run.stderr.contains("Unable to connect to the server: t"))
        };
        same(
            &(
                refuses(&["get", "pod"])?,
                refuses(&["nominate", "explain"])?,
            ),
            &(by_kubectl, by_us),
        )
        .map_err(|error| format!("{fault:?}: {error}"))?;
    }
    Ok(())
}
