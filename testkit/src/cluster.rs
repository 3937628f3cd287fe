//! Starts a cluster, says when it is ready, and ends it.
//!
//! Its functions block and bring their own runtime: call them from plain code, not from inside async code. It must not
//! leave anything behind, and an error names the component and shows the end of its log.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads its own logs and looks at the clock while it waits"
)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::access;
use crate::binaries::{Binaries, BuildError};
use crate::certificates::Identity;
use crate::client::{CEILING, Client, ClientError};
use crate::component::{self, Configured, Minors, Plan};
use crate::keys;
use crate::supervisor::{Program, STATE, Signal, Supervisor, SupervisorError};

/// How long between two looks at something that cannot be watched yet.
const PAUSE: Duration = Duration::from_millis(50);

/// How much of a log an error shows.
const LOG_LINES: usize = 15;

/// What to start.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    minors: Minors,
    nodes: Vec<String>,
    arguments: Vec<(String, String)>,
    address: Option<String>,
    logs: Option<PathBuf>,
}

impl ClusterOptions {
    /// A control plane of a minor such as `1.37` with the nodes n1 and n2.
    pub fn new(minor: &str) -> Self {
        Self {
            minors: Minors {
                usual: minor.to_owned(),
                others: BTreeMap::new(),
            },
            nodes: vec!["n1".to_owned(), "n2".to_owned()],
            arguments: Vec::new(),
            address: None,
            logs: None,
        }
    }

    /// The minor of all components that are not named otherwise.
    pub fn minor(&self) -> &str {
        &self.minors.usual
    }

    /// Keeps the components' logs in this folder if the cluster does not start: they end with it.
    #[must_use]
    pub fn logs(mut self, folder: &Path) -> Self {
        self.logs = Some(folder.to_owned());
        self
    }

    /// Has all components listen on this address, which [`crate::network`] has to have made.
    #[must_use]
    pub fn address(mut self, address: &str) -> Self {
        self.address = Some(address.to_owned());
        self
    }

    /// Names the nodes; a machine has room for ten over all clusters.
    #[must_use]
    pub fn nodes(mut self, names: &[&str]) -> Self {
        self.nodes = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Adds a command line argument to a component (`kube-scheduler`, `kubelet-n1`) or to all of a binary (`kubelet`).
    #[must_use]
    pub fn argument(mut self, component: &str, argument: &str) -> Self {
        self.arguments
            .push((component.to_owned(), argument.to_owned()));
        self
    }

    /// Takes a component, or all of a binary, from another minor; schedulers that are started later go with
    /// `kube-scheduler`, or each by its own name (`kube-scheduler-PROFILE`).
    #[must_use]
    pub fn of_minor(mut self, component: &str, minor: &str) -> Self {
        self.minors
            .others
            .insert(component.to_owned(), minor.to_owned());
        self
    }

    /// Turns gang scheduling on, which is off by default, and a declared feature off in one kubelet; 1.37 and later.
    #[must_use]
    pub fn other_gates(self) -> Self {
        const GATE: &str = "--feature-gates=GenericWorkload=true";
        self.argument(component::API_SERVER, GATE)
            .argument(
                component::API_SERVER,
                "--runtime-config=scheduling.k8s.io/v1beta1=true",
            )
            .argument(component::SCHEDULER, GATE)
            .argument(component::CONTROLLER_MANAGER, GATE)
            .argument(
                "kubelet-n2",
                "--feature-gates=RestartAllContainersOnContainerExits=false",
            )
    }
}

/// Why there is no cluster, or why it did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The components are not there.
    #[error("the components could not be built")]
    Build(#[from] BuildError),
    /// Another minor was asked for a component that the cluster does not have.
    #[error("there is no component {component} to take from minor {minor}; known: {}", known.join(", "))]
    UnknownComponent {
        component: String,
        minor: String,
        known: Vec<String>,
    },
    /// The process that owns the cluster's processes failed.
    #[error(transparent)]
    Supervisor(#[from] SupervisorError),
    /// No certificates.
    #[error("the certificates could not be made")]
    Certificates(#[from] rcgen::Error),
    /// No tokens.
    #[error("the system gives no random numbers")]
    NoRandomness,
    /// A file of the cluster.
    #[error("could not {what} {}", path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The runtime of the client.
    #[error("no runtime for the client")]
    Runtime(#[source] io::Error),
    /// A request that has to work on a new cluster.
    #[error("the new cluster did not answer as it should")]
    Client(#[from] ClientError),
    /// A component ended while it was waited for.
    #[error("{component} {how} while {waiting} was waited for; the end of its log:\n{log}")]
    Ended {
        component: String,
        how: String,
        waiting: String,
        log: String,
    },
    /// A component did not become ready.
    #[error("{component} is not ready after {} seconds ({last}); the end of its log:\n{log}", CEILING.as_secs())]
    NotReady {
        component: String,
        last: String,
        log: String,
    },
    /// It did not start, and its logs were to be kept.
    #[error("the cluster did not start; {kept}")]
    Logged {
        #[source]
        cause: Box<Self>,
        kept: String,
    },
}

/// A running cluster. Dropping it ends it.
pub struct Cluster {
    supervisor: Supervisor,
    binaries: Binaries,
    mixed: bool,
    nodes: Vec<String>,
    server: String,
    address: String,
    /// Grows while the cluster runs.
    plan: RefCell<Plan>,
    programs: RefCell<Vec<Program>>,
    other_schedulers: Cell<u16>,
    other_servers: Cell<u16>,
}

impl Cluster {
    /// Starts a cluster and returns when all nodes can take Pods and the scheduler works.
    pub fn start(options: &ClusterOptions) -> Result<Self, ClusterError> {
        let minors = &options.minors;
        let known = component::names(&options.nodes);
        if let Some((component, minor)) = minors
            .others
            .iter()
            .find(|(component, _)| !known.contains(component) && !component::is_later(component))
        {
            return Err(ClusterError::UnknownComponent {
                component: component.clone(),
                minor: minor.clone(),
                known,
            });
        }
        let mut folders = BTreeMap::new();
        for minor in minors.all() {
            let folder = Binaries::of(minor)?.folder().to_owned();
            folders.insert(minor.to_owned(), folder);
        }
        let binaries = Binaries::of(&minors.usual)?;
        let mixed = folders.len() > 1;
        let supervisor = Supervisor::start()?;
        let slot = supervisor.prepare(options.nodes.len(), folders)?;
        let address = options.address.clone();
        let address = address.unwrap_or_else(|| format!("127.77.{slot}.1"));
        let tokens = access::tokens().map_err(|_| ClusterError::NoRandomness)?;
        let mut plan = Plan::new(&address, &tokens, &options.arguments, minors)?;
        let (etcd, api_server) = (plan.etcd(), plan.api_server());
        let mut runtimes = Vec::new();
        let mut rest = vec![plan.scheduler(), plan.controller_manager()];
        for (n, node) in options.nodes.iter().enumerate() {
            let [runtime, kubelet] = plan.node(node, n)?;
            runtimes.push(runtime);
            rest.push(kubelet);
        }
        let server = plan.server();
        let nodes = options.nodes.clone();
        let cluster = Self {
            supervisor,
            binaries,
            mixed,
            nodes,
            server,
            address,
            plan: RefCell::new(plan),
            programs: RefCell::new(Vec::new()),
            other_schedulers: Cell::new(0),
            other_servers: Cell::new(0),
        };
        match (
            cluster.bring_up(etcd, runtimes, api_server, rest),
            &options.logs,
        ) {
            (Err(cause), Some(folder)) => Err(ClusterError::Logged {
                cause: cause.into(),
                kept: cluster.keep_logs(folder),
            }),
            (up, _) => up.map(|()| cluster),
        }
    }

    /// Starts the components in their order, and waits for each.
    fn bring_up(
        &self,
        etcd: Program,
        runtimes: Vec<Program>,
        api_server: Program,
        rest: Vec<Program>,
    ) -> Result<(), ClusterError> {
        self.write_files()?;
        self.supervisor
            .egress(component::EGRESS_SOCKET, &self.address)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(ClusterError::Runtime)?;
        self.run(etcd)?;
        for program in runtimes {
            self.run(program)?;
        }
        self.wait_for_etcd()?;
        self.run(api_server)?;
        runtime.block_on(async {
            let admin = self.client("admin").await?;
            // The rest starts when the server answers: a component that finds nobody backs off for seconds.
            self.wait_for_answer(component::API_SERVER, &admin, "/readyz")
                .await?;
            for program in rest {
                self.run(program)?;
            }
            for (path, object) in access::grants() {
                admin.create(path, &object).await?;
            }
            self.wait_for_nodes(&admin).await?;
            self.wait_for_health(
                component::CONTROLLER_MANAGER,
                component::CONTROLLER_MANAGER_PORT,
            )
            .await?;
            self.wait_for_health(component::SCHEDULER, component::SCHEDULER_PORT)
                .await
        })
    }

    /// Whether some component is of another minor.
    pub fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// The minor, for instance `1.37`.
    pub fn minor(&self) -> &str {
        self.binaries.minor()
    }

    /// The exact version, for instance `v1.37.2`.
    pub fn version(&self) -> &str {
        self.binaries.version()
    }

    /// The names of the nodes.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// The address that all components listen on, one of loopback unless another was asked for.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// etcd's URL.
    pub(crate) fn etcd(&self) -> String {
        let (address, port) = self.plan.borrow().etcd_address();
        format!("http://{address}:{port}")
    }

    /// The API server's URL.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The `kubectl` of the cluster's minor.
    pub fn kubectl(&self) -> PathBuf {
        self.binaries.kubectl()
    }

    /// The kubeconfig of `admin`, `viewer`, `pods-only`, `nobody` or `recommender`.
    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        self.inside(&component::kubeconfig_file(user))
    }

    /// Client certificates of a user, one for each form that a private key may have; the form, then both as PEM.
    pub fn client_identities(
        &self,
        user: &str,
        folder: &Path,
    ) -> Result<Vec<(&'static str, Identity)>, ClusterError> {
        let binary = self.binaries.folder().join(component::CONTROLLER_MANAGER);
        let rsa = keys::rsa_of_a_component(&binary, folder).map_err(|source| {
            let (what, path) = ("have an RSA key made in", folder.to_owned());
            ClusterError::File { what, path, source }
        })?;
        let mut identities = Vec::new();
        for key in [keys::ec()?, keys::rsa(&rsa)?] {
            let plan = self.plan.borrow();
            let certificate = plan.client_certificate(user, None, &key.pair)?;
            for (form, key) in key.forms {
                let certificate = certificate.clone();
                identities.push((form, Identity { certificate, key }));
            }
        }
        Ok(identities)
    }

    /// The certificate of the authority that signed the server's, as a file.
    pub fn authority(&self) -> PathBuf {
        self.inside("pki/ca.crt")
    }

    /// The API server's audit log: writes to Pods with request and response, a line of JSON each.
    pub fn audit_log(&self) -> PathBuf {
        self.supervisor.outside(component::AUDIT_LOG)
    }

    /// The folder with a log file a component.
    pub fn logs(&self) -> PathBuf {
        self.inside("logs")
    }

    /// Copies the components' logs to a folder, as they end with the cluster; says where they are, or why they are not.
    pub fn keep_logs(&self, folder: &Path) -> String {
        let copied = fs::create_dir_all(folder).and_then(|()| {
            for entry in fs::read_dir(self.logs())? {
                let entry = entry?;
                fs::copy(entry.path(), folder.join(entry.file_name()))?;
            }
            Ok(())
        });
        match copied {
            Ok(()) => format!("the components' logs are in {}", folder.display()),
            Err(error) => format!("the components' logs could not be kept: {error}"),
        }
    }

    /// Asks the scheduler or the controller manager itself, as the administrator.
    pub async fn client_of(&self, component: &str) -> Result<Client, ClientError> {
        let port = match component {
            component::SCHEDULER => Some(component::SCHEDULER_PORT),
            component::CONTROLLER_MANAGER => Some(component::CONTROLLER_MANAGER_PORT),
            _ => None,
        };
        Client::with_port(&self.kubeconfig("admin"), port).await
    }

    /// Makes a client for a user, inside the runtime that calls.
    pub async fn client(&self, user: &str) -> Result<Client, ClientError> {
        Client::from_kubeconfig(&self.kubeconfig(user)).await
    }

    /// Kills a component (SIGKILL) and returns how it ended.
    pub fn kill(&self, component: &str) -> Result<String, ClusterError> {
        Ok(self.supervisor.end(component, Signal::Kill)?)
    }

    /// Asks a component to end (SIGTERM), waits until it has, and returns how it ended.
    pub fn stop(&self, component: &str) -> Result<String, ClusterError> {
        Ok(self.supervisor.end(component, Signal::Terminate)?)
    }

    /// Lets a component stand still (SIGSTOP), as one that is overloaded or cut off does.
    pub fn freeze(&self, component: &str) -> Result<(), ClusterError> {
        Ok(self.supervisor.freeze(component, true)?)
    }

    /// Lets a component that stands still go on (SIGCONT).
    pub fn thaw(&self, component: &str) -> Result<(), ClusterError> {
        Ok(self.supervisor.freeze(component, false)?)
    }

    /// Has a node's kubelet run a Pod by itself, until the file that is returned goes.
    pub fn run_static_pod(&self, node: &str, pod: &Value) -> Result<PathBuf, ClusterError> {
        let folder = self.inside(&format!("nodes/{node}/manifests"));
        let name = |key: &str| pod["metadata"][key].as_str().unwrap_or_default();
        let manifest = folder.join(format!("{}-{}.json", name("namespace"), name("name")));
        // The kubelet reads whatever lies there: the file has to come as a whole, and files that begin with a dot it leaves alone.
        let draft = folder.join(".draft");
        let written = fs::write(&draft, pod.to_string());
        written
            .and_then(|()| fs::rename(&draft, &manifest))
            .map_err(file("write", &manifest))?;
        Ok(manifest)
    }

    /// Starts a component again that was killed or stopped, as it was before.
    pub fn start_again(&self, component: &str) -> Result<(), ClusterError> {
        let programs = self.programs.borrow();
        let program = programs.iter().find(|program| program.name == component);
        let program = program
            .ok_or_else(|| SupervisorError::Refused(format!("there is no process {component}")))?;
        Ok(self.supervisor.run(program)?)
    }

    /// Starts a component again that was killed or stopped, as another minor of the cluster's and with other gates: its own
    /// `--feature-gates` count no more.
    pub fn start_as(
        &self,
        component: &str,
        minor: &str,
        arguments: &[&str],
    ) -> Result<(), ClusterError> {
        let programs = self.programs.borrow();
        let known = programs.iter().find(|program| program.name == component);
        let mut program = known
            .ok_or_else(|| SupervisorError::Refused(format!("there is no process {component}")))?
            .clone();
        drop(programs);
        program.path = component::binary(minor, &program.path);
        program
            .arguments
            .retain(|argument| !argument.starts_with("--feature-gates="));
        let others = arguments.iter().map(|argument| (*argument).to_owned());
        program.arguments.extend(others);
        self.run(program)
    }

    /// Starts one more API server on the same etcd, at an address of its own and on a host of another name, with arguments of its
    /// own; waits until its cluster knows its address and its lease, and returns its component name.
    pub fn start_api_server(
        &self,
        address: &str,
        arguments: &[&str],
    ) -> Result<String, ClusterError> {
        const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
        const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
        let n = self.other_servers.get().saturating_add(2);
        self.other_servers.set(n - 1);
        let program = self
            .plan
            .borrow_mut()
            .other_api_server(address, n, arguments)?;
        let name = program.name.clone();
        self.write_files()?;
        self.run(program)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(ClusterError::Runtime)?;
        runtime.block_on(async {
            let server = component::server(address);
            let client = Client::at(&self.kubeconfig("admin"), &server).await?;
            self.wait_for_answer(&name, &client, "/readyz").await?;
            let is_listed = |slice: &Value| {
                let endpoints = slice["endpoints"].as_array().into_iter().flatten();
                endpoints
                    .filter_map(|endpoint| endpoint["addresses"].as_array())
                    .flatten()
                    .any(|listed| listed == address)
            };
            let of_kubernetes = "metadata.name=kubernetes";
            client
                .watch_until("the server's address", SLICES, of_kubernetes, is_listed)
                .await?;
            let host = component::host_name(n);
            let is_its =
                |lease: &Value| lease["metadata"]["labels"]["kubernetes.io/hostname"] == host;
            client
                .watch_until("the server's lease", LEASES, "", is_its)
                .await?;
            Ok(name)
        })
    }

    /// Starts one more scheduler that serves a scheduler name, waits for it, and returns its component name.
    pub fn start_scheduler(&self, profile: &str) -> Result<String, ClusterError> {
        self.start_scheduler_with(profile, &Configured::default())
    }

    /// The same with more in its configuration.
    pub fn start_scheduler_with(
        &self,
        profile: &str,
        more: &Configured,
    ) -> Result<String, ClusterError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(ClusterError::Runtime)?;
        runtime.block_on(self.start_scheduler_inside(profile, more))
    }

    /// The same inside the runtime that calls.
    pub(crate) async fn start_scheduler_inside(
        &self,
        profile: &str,
        more: &Configured,
    ) -> Result<String, ClusterError> {
        let n = self
            .other_schedulers
            .replace(self.other_schedulers.get().saturating_add(1));
        let (program, port) = self.plan.borrow_mut().other_scheduler(profile, more, n);
        let name = program.name.clone();
        self.write_files()?;
        self.run(program)?;
        self.wait_for_health(&name, port).await?;
        Ok(name)
    }

    fn run(&self, program: Program) -> Result<(), ClusterError> {
        self.supervisor.run(&program)?;
        let mut programs = self.programs.borrow_mut();
        // One that ended may start again with other arguments.
        programs.retain(|known| known.name != program.name);
        programs.push(program);
        Ok(())
    }

    /// Shows a path below the state folder as this process can reach it.
    fn inside(&self, path: &str) -> PathBuf {
        self.supervisor.outside(&format!("{STATE}/{path}"))
    }

    /// Writes what the plan has; files that are there already are the same.
    fn write_files(&self) -> Result<(), ClusterError> {
        for (path, content) in &self.plan.borrow().files {
            let path = self.inside(path);
            let error = |what| {
                let path = path.clone();
                move |source| ClusterError::File { what, path, source }
            };
            fs::create_dir_all(path.parent().unwrap_or(&path))
                .map_err(error("create the folder of"))?;
            fs::write(&path, content).map_err(error("write"))?;
        }
        Ok(())
    }

    /// Waits until etcd takes connections; it does so when it can serve.
    fn wait_for_etcd(&self) -> Result<(), ClusterError> {
        let begun = Instant::now();
        loop {
            match TcpStream::connect(self.plan.borrow().etcd_address()) {
                Ok(_) => return Ok(()),
                Err(error) => self.still_waiting(component::ETCD, begun, &error.to_string())?,
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until a path answers with success.
    async fn wait_for_answer(
        &self,
        component: &str,
        client: &Client,
        path: &str,
    ) -> Result<(), ClusterError> {
        let begun = Instant::now();
        loop {
            match client.raw(path).await {
                Ok(_) => return Ok(()),
                Err(error) => self.still_waiting(component, begun, &error.to_string())?,
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until a component other than the API server says that it is ready.
    async fn wait_for_health(&self, component: &str, port: u16) -> Result<(), ClusterError> {
        let client = Client::with_port(&self.kubeconfig("admin"), Some(port)).await?;
        // The controller manager has no /readyz.
        let path = if component == component::CONTROLLER_MANAGER {
            "/healthz"
        } else {
            "/readyz"
        };
        self.wait_for_answer(component, &client, path).await
    }

    /// Waits until every node is ready and has lost the taint that keeps Pods away.
    async fn wait_for_nodes(&self, admin: &Client) -> Result<(), ClusterError> {
        for node in &self.nodes {
            let component = component::kubelet(node);
            let selector = format!("metadata.name={node}");
            let ready = admin.watch_until("a ready node", "/api/v1/nodes", &selector, takes_pods);
            let mut ready = std::pin::pin!(ready);
            loop {
                // A look at the process now and then: a dead kubelet has not to be waited for.
                match tokio::time::timeout(PAUSE * 4, &mut ready).await {
                    Ok(Ok(_)) => break,
                    Ok(Err(error)) => return Err(self.not_ready(&component, &error.to_string())),
                    Err(_) => self.still_running(&component, "its node")?,
                }
            }
        }
        Ok(())
    }

    /// Fails if a component has ended or has been waited for too long.
    fn still_waiting(
        &self,
        component: &str,
        begun: Instant,
        last: &str,
    ) -> Result<(), ClusterError> {
        self.still_running(component, "an answer")?;
        if begun.elapsed() > CEILING {
            return Err(self.not_ready(component, last));
        }
        Ok(())
    }

    fn still_running(&self, component: &str, waiting: &str) -> Result<(), ClusterError> {
        match self.supervisor.ended(component)? {
            None => Ok(()),
            Some(how) => Err(ClusterError::Ended {
                component: component.to_owned(),
                how,
                waiting: waiting.to_owned(),
                log: self.end_of_log(component),
            }),
        }
    }

    fn not_ready(&self, component: &str, last: &str) -> ClusterError {
        ClusterError::NotReady {
            component: component.to_owned(),
            last: last.to_owned(),
            log: self.end_of_log(component),
        }
    }

    fn end_of_log(&self, component: &str) -> String {
        let path = self.logs().join(format!("{component}.log"));
        match fs::read(&path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let lines: Vec<&str> = text.lines().collect();
                lines
                    .iter()
                    .skip(lines.len().saturating_sub(LOG_LINES))
                    .copied()
                    .collect::<Vec<_>>()
                    .join("\n")
            }
            Err(error) => format!("({} cannot be read: {error})", path.display()),
        }
    }
}

fn file<'p>(what: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> ClusterError + 'p {
    move |source| ClusterError::File {
        what,
        path: path.to_owned(),
        source,
    }
}

/// Says whether a node is ready and free of the taint that a new node has.
fn takes_pods(node: &Value) -> bool {
    let ready = node
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .is_some_and(|all| {
            all.iter()
                .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
        });
    let tainted = node
        .pointer("/spec/taints")
        .and_then(Value::as_array)
        .is_some_and(|all| {
            all.iter()
                .any(|taint| taint["key"] == "node.kubernetes.io/not-ready")
        });
    ready && !tainted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(options: &ClusterOptions) -> String {
        let Err(error) = Cluster::start(options) else {
            return "a cluster".to_owned();
        };
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        format!("{error}: {}", cause.unwrap_or_default())
    }

    #[test]
    fn another_minor_for_no_component_is_refused_and_the_known_ones_are_named() {
        let options = ClusterOptions::new("1.37").nodes(&["n1"]);
        assert_eq!(
            refused(&options.of_minor("kubelet-n2", "1.36")),
            "there is no component kubelet-n2 to take from minor 1.36; known: etcd, kube-apiserver, kube-scheduler, \
             kube-controller-manager, kubelet, fakecri, kubelet-n1, fakecri-n1: "
        );
    }

    #[test]
    fn an_unknown_minor_of_a_component_is_refused_before_anything_is_built() {
        let said = refused(&ClusterOptions::new("1.37").of_minor("kubelet", "1.2"));
        assert!(said.contains("there is no minor 1.2 under "), "{said}");
        let known = crate::binaries::minors().join(", ");
        assert!(said.contains(&format!("known: {known}")), "{said}");
    }
}
