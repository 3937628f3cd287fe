//! What each component is started with: arguments, configuration files, kubeconfigs.
//!
//! Paths are those inside the cluster's own mount namespace; ports are fixed, since every cluster has its own address.
//! It must not start anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::access::{self, Token};
use crate::certificates::{self, Authority, Identity};
use crate::supervisor::{BIN, Program, STATE};

pub(crate) const ETCD: &str = "etcd";
pub(crate) const API_SERVER: &str = "kube-apiserver";
pub(crate) const SCHEDULER: &str = "kube-scheduler";
pub(crate) const CONTROLLER_MANAGER: &str = "kube-controller-manager";
const KUBELET: &str = "kubelet";
const RUNTIME: &str = "fakecri";

/// A scheduler name that every cluster's scheduler serves beside its usual one.
pub(crate) const IMPATIENT: &str = "impatient-scheduler";

pub(crate) const SCHEDULER_PORT: u16 = 10259;
pub(crate) const CONTROLLER_MANAGER_PORT: u16 = 10257;
const API_SERVER_PORT: u16 = 6443;
const ETCD_PORT: u16 = 2379;
const ETCD_PEER_PORT: u16 = 2380;
const FIRST_KUBELET_PORT: u16 = 10250;
const FIRST_OTHER_SCHEDULER_PORT: u16 = 11259;

/// The audit log: every write to a Pod with both objects, and nothing else.
pub(crate) const AUDIT_LOG: &str = "/run/cluster/audit/audit.jsonl";
/// The socket of the proxy between the API server and the kubelets.
pub(crate) const EGRESS_SOCKET: &str = "/run/cluster/egress.sock";

/// What a scheduler of a test's own is configured with, beside its name: keys of its only profile, and of the whole.
#[derive(Debug, Clone, Default)]
pub struct Configured {
    pub profile: Value,
    pub whole: Value,
}

fn extend(object: &mut Value, more: &Value) {
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
}

/// Which minor each component is of.
#[derive(Debug, Clone)]
pub(crate) struct Minors {
    /// The one of all that are not named.
    pub(crate) usual: String,
    /// By the name of a component or of a binary.
    pub(crate) others: BTreeMap<String, String>,
}

impl Minors {
    /// The minor of a component; its own name counts before its binary's.
    fn of(&self, name: &str, binary: &str) -> &str {
        self.others
            .get(name)
            .or_else(|| self.others.get(binary))
            .unwrap_or(&self.usual)
    }

    /// Every minor that is named, some perhaps twice.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.others
            .values()
            .chain([&self.usual])
            .map(String::as_str)
    }
}

/// One cluster on paper.
pub(crate) struct Plan {
    address: String,
    authority: Authority,
    arguments: Vec<(String, String)>,
    minors: Minors,
    /// Files by their path below the state folder.
    pub(crate) files: BTreeMap<String, String>,
}

impl Plan {
    /// Signs a client certificate for a key; the group is its organisation.
    pub(crate) fn client_certificate(
        &self,
        user: &str,
        group: Option<&str>,
        key: &rcgen::KeyPair,
    ) -> Result<String, rcgen::Error> {
        self.authority.client_for(user, group, key)
    }

    /// Plans the control plane and writes down its files.
    pub(crate) fn new(
        address: &str,
        tokens: &[Token],
        arguments: &[(String, String)],
        minors: &Minors,
    ) -> Result<Self, rcgen::Error> {
        let mut plan = Self {
            address: address.to_owned(),
            authority: Authority::new("kubernetes")?,
            arguments: arguments.to_vec(),
            minors: minors.clone(),
            files: BTreeMap::new(),
        };
        plan.write("pki/ca.crt", plan.authority.certificate());
        // Nobody comes through a front proxy; its authority only has to be another one.
        let front_proxy = Authority::new("front-proxy")?.certificate();
        plan.write("pki/front-proxy-ca.crt", front_proxy);
        let [private, public] = certificates::signing_keys()?;
        plan.write("pki/service-account.key", private);
        plan.write("pki/service-account.pub", public);
        let kubelet_client = plan
            .authority
            .client("kube-apiserver-kubelet-client", Some("system:masters"))?;
        plan.write_identity("pki/kubelet-client", kubelet_client);
        let names = [address, "127.0.0.1", "localhost", "kubernetes.default.svc"];
        let serving = plan.authority.server("control-plane", &names)?;
        plan.write_identity("pki/server", serving);
        plan.write("pki/tokens.csv", access::token_file(tokens));
        plan.write("audit/policy.json", audit_policy().to_string());
        plan.write("egress.json", egress_selection().to_string());
        for (file, user, group) in [
            ("admin", "admin", Some("system:masters")),
            (SCHEDULER, "system:kube-scheduler", None),
            (CONTROLLER_MANAGER, "system:kube-controller-manager", None),
        ] {
            plan.write_client(file, user, group)?;
        }
        for Token { user, secret } in tokens {
            let kubeconfig = plan.kubeconfig(user, &json!({"token": secret}));
            plan.write(&kubeconfig_file(user), kubeconfig);
        }
        Ok(plan)
    }

    /// Where the API server listens.
    pub(crate) fn server(&self) -> String {
        server(&self.address)
    }

    pub(crate) fn etcd(&self) -> Program {
        let client = format!("http://{}:{ETCD_PORT}", self.address);
        let peer = format!("http://{}:{ETCD_PEER_PORT}", self.address);
        self.program(
            ETCD,
            ETCD,
            vec![
                format!("--data-dir={STATE}/etcd"),
                format!("--listen-client-urls={client}"),
                format!("--advertise-client-urls={client}"),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster=default={peer}"),
                // The data lies in memory and ends with the cluster.
                "--unsafe-no-fsync=true".to_owned(),
            ],
        )
    }

    /// Where etcd says that it is well.
    pub(crate) fn etcd_address(&self) -> (String, u16) {
        (self.address.clone(), ETCD_PORT)
    }

    pub(crate) fn api_server(&self) -> Program {
        self.api_server_of(API_SERVER, &self.address, "server", AUDIT_LOG)
    }

    /// One more API server, the n-th, on a host of another name: the host's name makes that of its lease. Its certificate is for
    /// its address and the usual names.
    pub(crate) fn other_api_server(
        &mut self,
        address: &str,
        n: u16,
        arguments: &[&str],
    ) -> Result<Program, rcgen::Error> {
        let name = format!("{API_SERVER}-{n}");
        let names = [address, "kubernetes.default.svc"];
        let serving = self.authority.server(&name, &names)?;
        self.write_identity(&format!("pki/{name}"), serving);
        let log = format!("{AUDIT_LOG}.{n}");
        let mut program = self.api_server_of(&name, address, &name, &log);
        let own = arguments.iter().map(|argument| (*argument).to_owned());
        program.arguments.extend(own);
        // Its process stays the one that is started: each of them becomes the next.
        let script = r#"hostname "$0" && exec "$@""#;
        let host = host_name(n);
        let before = ["--uts", "sh", "-c", script, &host];
        let before = before.map(str::to_owned).into_iter();
        let binary = program.path.display().to_string();
        program.arguments = before.chain([binary]).chain(program.arguments).collect();
        program.path = "unshare".into();
        Ok(program)
    }

    fn api_server_of(&self, name: &str, address: &str, serving: &str, audit_log: &str) -> Program {
        let pki = format!("{STATE}/pki");
        self.program(
            name,
            API_SERVER,
            vec![
                format!("--bind-address={address}"),
                format!("--secure-port={API_SERVER_PORT}"),
                format!("--cert-dir={STATE}/{name}"),
                format!("--tls-cert-file={pki}/{serving}.crt"),
                format!("--tls-private-key-file={pki}/{serving}.key"),
                format!("--etcd-servers=http://{}:{ETCD_PORT}", self.address),
                format!("--token-auth-file={pki}/tokens.csv"),
                format!("--client-ca-file={pki}/ca.crt"),
                // Without these the ConfigMap extension-apiserver-authentication never exists, and the scheduler waits
                // for it.
                format!("--requestheader-client-ca-file={pki}/front-proxy-ca.crt"),
                "--requestheader-allowed-names=front-proxy-client".to_owned(),
                "--requestheader-username-headers=X-Remote-User".to_owned(),
                "--requestheader-group-headers=X-Remote-Group".to_owned(),
                "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
                "--authorization-mode=Node,RBAC".to_owned(),
                "--enable-admission-plugins=NodeRestriction".to_owned(),
                // Pods need no tokens, and so need not wait for a new namespace's service account.
                "--disable-admission-plugins=ServiceAccount".to_owned(),
                format!("--service-account-key-file={pki}/service-account.pub"),
                format!("--service-account-signing-key-file={pki}/service-account.key"),
                "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
                "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
                "--allow-privileged=true".to_owned(),
                // As kubeadm sets it; the names of nodes resolve nowhere.
                "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname".to_owned(),
                format!("--kubelet-client-certificate={pki}/kubelet-client.crt"),
                format!("--kubelet-client-key={pki}/kubelet-client.key"),
                format!("--egress-selector-config-file={STATE}/egress.json"),
                format!("--audit-policy-file={STATE}/audit/policy.json"),
                format!("--audit-log-path={audit_log}"),
            ],
        )
    }

    pub(crate) fn controller_manager(&self) -> Program {
        let kubeconfig = format!("{STATE}/{}", kubeconfig_file(CONTROLLER_MANAGER));
        let mut arguments = self.serving(CONTROLLER_MANAGER_PORT, &kubeconfig);
        arguments.extend([
            format!("--kubeconfig={kubeconfig}"),
            "--leader-elect=false".to_owned(),
            "--use-service-account-credentials=true".to_owned(),
            format!("--service-account-private-key-file={STATE}/pki/service-account.key"),
            format!("--root-ca-file={STATE}/pki/ca.crt"),
            format!("--flex-volume-plugin-dir={STATE}/volume-plugins"),
            // A dead kubelet is to be seen within a test.
            "--node-monitor-grace-period=15s".to_owned(),
            "--node-monitor-period=2s".to_owned(),
        ]);
        self.program(CONTROLLER_MANAGER, CONTROLLER_MANAGER, arguments)
    }

    /// The scheduler of every cluster.
    pub(crate) fn scheduler(&mut self) -> Program {
        // The second one gives up on a volume within a test; nobody uses it who does not ask for it.
        let impatient = json!({
            "schedulerName": IMPATIENT,
            "pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 1}}],
        });
        let profiles = json!([{"schedulerName": "default-scheduler"}, impatient]);
        self.scheduler_of(&profiles, &Value::Null, SCHEDULER, SCHEDULER_PORT)
    }

    /// One more scheduler, for Pods with another scheduler name; the n-th, counted from 0. `more` are further keys of its
    /// profile and of its configuration.
    pub(crate) fn other_scheduler(
        &mut self,
        profile: &str,
        more: &Configured,
        n: u16,
    ) -> (Program, u16) {
        let port = FIRST_OTHER_SCHEDULER_PORT.saturating_add(n);
        let mut own = json!({"schedulerName": profile});
        extend(&mut own, &more.profile);
        let name = format!("{SCHEDULER}-{profile}");
        (
            self.scheduler_of(&json!([own]), &more.whole, &name, port),
            port,
        )
    }

    fn scheduler_of(&mut self, profiles: &Value, more: &Value, name: &str, port: u16) -> Program {
        let kubeconfig = format!("{STATE}/{}", kubeconfig_file(SCHEDULER));
        let mut config = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": false},
            "clientConnection": {"kubeconfig": kubeconfig},
            "profiles": profiles,
        });
        extend(&mut config, more);
        let file = format!("{name}.json");
        self.write(&file, config.to_string());
        let mut arguments = self.serving(port, &kubeconfig);
        arguments.push(format!("--config={STATE}/{file}"));
        // Its log then tells when it learned of a change, and of each attempt.
        arguments.push("--v=4".to_owned());
        self.program(name, SCHEDULER, arguments)
    }

    /// A node: the fake runtime and the kubelet; the n-th, counted from 0.
    pub(crate) fn node(&mut self, name: &str, n: usize) -> Result<[Program; 2], rcgen::Error> {
        let port = u16::try_from(n).map_or(u16::MAX, |n| FIRST_KUBELET_PORT.saturating_add(n));
        let home = format!("{STATE}/nodes/{name}");
        let socket = format!("{home}/runtime.sock");
        let (kubelet, runtime) = (kubelet(name), runtime(name));
        self.write_client(
            &kubelet,
            &format!("system:node:{name}"),
            Some("system:nodes"),
        )?;
        let serving = self
            .authority
            .server(&format!("system:node:{name}"), &[name, &self.address])?;
        self.write_identity(&format!("nodes/{name}/server"), serving);
        let file = format!("nodes/{name}/kubelet.json");
        let config = kubelet_configuration(&self.address, port, &home, &socket);
        self.write(&file, config.to_string());
        // Its folder has to be there.
        self.write(&format!("nodes/{name}/manifests/.keep"), String::new());
        let runtime = self.program(&runtime, RUNTIME, vec![socket, self.address.clone()]);
        let arguments = vec![
            format!("--config={STATE}/{file}"),
            format!("--kubeconfig={STATE}/{}", kubeconfig_file(&kubelet)),
            format!("--hostname-override={name}"),
            format!("--root-dir={home}/root"),
            format!("--cert-dir={home}/certificates"),
        ];
        let mut kubelet = self.program(&kubelet, KUBELET, arguments);
        kubelet.kubelet = Some(n);
        Ok([runtime, kubelet])
    }

    /// The arguments that the scheduler and the controller manager share.
    fn serving(&self, port: u16, kubeconfig: &str) -> Vec<String> {
        vec![
            format!("--bind-address={}", self.address),
            format!("--secure-port={port}"),
            format!("--tls-cert-file={STATE}/pki/server.crt"),
            format!("--tls-private-key-file={STATE}/pki/server.key"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
        ]
    }

    /// Puts a program together, the caller's arguments last so that they win.
    fn program(&self, name: &str, binary: &str, mut arguments: Vec<String>) -> Program {
        for (component, argument) in &self.arguments {
            if component == name || component == binary {
                arguments.push(argument.clone());
            }
        }
        Program {
            name: name.to_owned(),
            // The last part stays the binary's name: managedFields call the manager so.
            path: binary_of(self.minors.of(name, binary), binary),
            arguments,
            kubelet: None,
        }
    }

    fn write_client(
        &mut self,
        file: &str,
        user: &str,
        group: Option<&str>,
    ) -> Result<(), rcgen::Error> {
        let identity = self.authority.client(user, group)?;
        let credentials = json!({
            "client-certificate-data": BASE64_STANDARD.encode(identity.certificate),
            "client-key-data": BASE64_STANDARD.encode(identity.key),
        });
        let kubeconfig = self.kubeconfig(user, &credentials);
        self.write(&kubeconfig_file(file), kubeconfig);
        Ok(())
    }

    fn kubeconfig(&self, user: &str, credentials: &Value) -> String {
        let authority = BASE64_STANDARD.encode(self.authority.certificate());
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "testkit",
                "cluster": {"server": self.server(), "certificate-authority-data": authority},
            }],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{
                "name": "testkit",
                "context": {"cluster": "testkit", "user": user, "namespace": "default"},
            }],
            "current-context": "testkit",
        })
        .to_string()
    }

    fn write_identity(&mut self, stem: &str, identity: Identity) {
        self.write(&format!("{stem}.crt"), identity.certificate);
        self.write(&format!("{stem}.key"), identity.key);
    }

    fn write(&mut self, path: &str, content: String) {
        self.files.insert(path.to_owned(), content);
    }
}

/// The URL of the API server at an address.
pub(crate) fn server(address: &str) -> String {
    format!("https://{address}:{API_SERVER_PORT}")
}

/// The name of the host that the n-th API server runs on.
pub(crate) fn host_name(n: u16) -> String {
    format!("control-plane-{n}")
}

fn binary_of(minor: &str, binary: &str) -> PathBuf {
    format!("{BIN}/{minor}/{binary}").into()
}

/// The same binary of another minor.
pub(crate) fn binary(minor: &str, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    binary_of(minor, &name)
}

/// The name of a node's kubelet among the components.
pub(crate) fn kubelet(node: &str) -> String {
    format!("{KUBELET}-{node}")
}

fn runtime(node: &str) -> String {
    format!("{RUNTIME}-{node}")
}

/// All names that a cluster with these nodes starts with: of the components, and of the binaries that several share.
pub(crate) fn names(nodes: &[String]) -> Vec<String> {
    [
        ETCD,
        API_SERVER,
        SCHEDULER,
        CONTROLLER_MANAGER,
        KUBELET,
        RUNTIME,
    ]
    .map(str::to_owned)
    .into_iter()
    .chain(nodes.iter().flat_map(|node| [kubelet(node), runtime(node)]))
    .collect()
}

/// Whether a name is one of a scheduler that is started later, if it is.
pub(crate) fn is_later(name: &str) -> bool {
    let profile = name.strip_prefix(SCHEDULER);
    profile.is_some_and(|profile| profile.starts_with('-'))
}

/// The path of a user's kubeconfig below the state folder.
pub(crate) fn kubeconfig_file(user: &str) -> String {
    format!("kubeconfig/{user}")
}

fn audit_policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {
                "level": "RequestResponse",
                "verbs": ["create", "update", "patch", "delete", "deletecollection"],
                "resources": [{"group": "", "resources": ["bindings", "pods", "pods/binding", "pods/eviction", "pods/status"]}],
            },
            {"level": "None"},
        ],
    })
}

fn egress_selection() -> Value {
    json!({
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{
            "name": "cluster",
            "connection": {
                "proxyProtocol": "HTTPConnect",
                "transport": {"uds": {"udsName": EGRESS_SOCKET}},
            },
        }],
    })
}

fn kubelet_configuration(address: &str, port: u16, home: &str, socket: &str) -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": address,
        "port": port,
        "healthzPort": 0,
        "tlsCertFile": format!("{home}/server.crt"),
        "tlsPrivateKeyFile": format!("{home}/server.key"),
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": format!("{STATE}/pki/ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": format!("unix://{socket}"),
        "staticPodPath": format!("{home}/manifests"),
        "podLogsDir": format!("{home}/pod-logs"),
        "volumePluginDir": format!("{home}/volume-plugins"),
        "resolvConf": format!("{STATE}/resolv.conf"),
        // Nobody serves it; without an address the kubelet complains in every Pod's events.
        "clusterDNS": ["10.0.0.10"],
        // No container runs, so there is nothing to put into cgroups.
        "cgroupsPerQOS": false,
        "enforceNodeAllocatable": [],
        "localStorageCapacityIsolation": false,
        // The machine is the developer's: whatever it is like, the nodes are well.
        "failSwapOn": false,
        "failCgroupV1": false,
        "makeIPTablesUtilChains": false,
        "evictionHard": {"nodefs.available": "0%"},
        "nodeStatusUpdateFrequency": "2s",
        "nodeStatusReportFrequency": "5s",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_component_counts_before_its_binary() {
        let named = [("kubelet", "1.36"), ("kubelet-n2", "1.35")];
        let minors = Minors {
            usual: "1.37".to_owned(),
            others: named
                .map(|(name, minor)| (name.to_owned(), minor.to_owned()))
                .into(),
        };
        assert_eq!(minors.of("kubelet-n2", KUBELET), "1.35");
        assert_eq!(minors.of("kubelet-n1", KUBELET), "1.36");
        assert_eq!(minors.of(SCHEDULER, SCHEDULER), "1.37");
    }
}
