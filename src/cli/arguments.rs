//! Flags that subcommands share, in kubectl's words, and their meaning resolved against `Env`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::block::Block;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::render::{self, Draw, FORMATS, Style};
use crate::source::connect::ConnectError;
use crate::source::credentials::CredentialError;
use crate::source::exec::ExecError;
use crate::source::kubeconfig::{self, Connection, KubeconfigError, Overrides, Pod};
use crate::source::live::Live;
use crate::source::offline::{OfflineError, Place};
use crate::source::proxy::Environment;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Connection options")]
pub(super) struct ConnectionArgs {
    /// Path to the kubeconfig file to use for requests
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Name of the kubeconfig context to use; where it is repeated the last one counts
    #[arg(long, value_name = "NAME")]
    pub(super) context: Vec<String>,
    /// Name of the kubeconfig cluster to use
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// Name of the kubeconfig user to use
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Address and port of the API server
    #[arg(short, long, value_name = "URL")]
    server: Option<String>,
    /// Name to verify the server's certificate by, instead of the host name
    #[arg(long, value_name = "NAME")]
    tls_server_name: Option<String>,
    /// Do not verify the server's certificate; the connection is then not secure
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// Path to the certificate authority's file
    #[arg(long, value_name = "FILE")]
    certificate_authority: Option<String>,
    /// Path to the client certificate's file
    #[arg(long, value_name = "FILE")]
    client_certificate: Option<String>,
    /// Path to the client key's file
    #[arg(long, value_name = "FILE")]
    client_key: Option<String>,
    /// Bearer token for authentication
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// User to impersonate
    #[arg(long = "as", value_name = "USER")]
    as_user: Option<String>,
    /// UID to impersonate
    #[arg(long, value_name = "UID")]
    as_uid: Option<String>,
    /// Group to impersonate; may be repeated
    #[arg(long, value_name = "GROUP")]
    as_group: Vec<String>,
    /// Extra of the user to impersonate, KEY=VALUE; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    as_user_extra: Vec<(String, String)>,
    /// Accepted as by kubectl, and without effect: nothing is kept in a cache
    #[arg(long, value_name = "FOLDER")]
    cache_dir: Option<PathBuf>,
    /// Ask for answers without compression
    #[arg(long)]
    disable_compression: bool,
    /// Time to wait for each request, with a unit (1s, 2m); 0 waits for ever
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = request_timeout)]
    request_timeout: RequestTimeout,
}

/// Limit of each request; null is none. A type of its own, so that clap does not take it for an optional flag.
#[derive(Debug, Clone, Copy)]
struct RequestTimeout(Option<Duration>);

fn key_and_value(text: &str) -> Result<(String, String), String> {
    let pair = text
        .split_once('=')
        .ok_or_else(|| "give KEY=VALUE".to_owned())?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

fn request_timeout(text: &str) -> Result<RequestTimeout, String> {
    if text == "0" {
        return Ok(RequestTimeout(None));
    }
    let duration: SignedDuration = text
        .parse()
        .map_err(|_| "give a time with a unit, e.g. 1s, 2m, 3h, or 0 for no limit".to_owned())?;
    let duration =
        Duration::try_from(duration).map_err(|_| "it must not be negative".to_owned())?;
    Ok(RequestTimeout((!duration.is_zero()).then_some(duration)))
}

/// A time to wait, with a unit; none is no time.
pub(super) fn some_time(text: &str) -> Result<Duration, String> {
    let time: SignedDuration = text
        .parse()
        .map_err(|_| "give a time with a unit, e.g. 10s, 1m".to_owned())?;
    Duration::try_from(time)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "it must be more than nothing".to_owned())
}

impl ConnectionArgs {
    fn overrides(&self) -> Overrides {
        Overrides {
            cluster: self.cluster.clone(),
            user: self.user.clone(),
            server: self.server.clone(),
            tls_server_name: self.tls_server_name.clone(),
            insecure_skip_tls_verify: self.insecure_skip_tls_verify,
            certificate_authority: self.certificate_authority.clone(),
            client_certificate: self.client_certificate.clone(),
            client_key: self.client_key.clone(),
            token: self.token.clone(),
            as_user: self.as_user.clone(),
            as_uid: self.as_uid.clone(),
            as_groups: self.as_group.clone(),
            as_extra: self.as_user_extra.clone(),
            disable_compression: self.disable_compression,
        }
    }

    /// Time that a request may take; null is no limit.
    pub(super) fn limit(&self) -> Option<Duration> {
        self.request_timeout.0
    }

    /// Makes the client of the chosen context; sends nothing.
    pub(super) async fn connect(&self, env: &Env) -> Result<Live, Error> {
        self.connect_by(self.context.last().cloned(), env).await
    }

    /// The same of another context.
    pub(super) async fn connect_to(&self, context: &str, env: &Env) -> Result<Live, Error> {
        self.connect_by(Some(context.to_owned()), env).await
    }

    async fn connect_by(&self, context: Option<String>, env: &Env) -> Result<Live, Error> {
        let connected = Live::connect(&self.connection(env, context)).await;
        connected.map_err(|error| connect_error(&error))
    }

    /// Names of all contexts, sorted.
    pub(super) fn contexts(&self, env: &Env) -> Result<Vec<String>, Error> {
        let connection = self.connection(env, None);
        kubeconfig::contexts(&connection)
            .map_err(|error| connect_error(&ConnectError::Kubeconfig(error)))
    }

    fn connection(&self, env: &Env, context: Option<String>) -> Connection {
        let (kubeconfigs, explicit) = match (&self.kubeconfig, env.variable("KUBECONFIG")) {
            (Some(path), _) => (vec![path.clone()], true),
            (None, Some(list)) => (
                list.split(':')
                    .filter(|path| !path.is_empty())
                    .map(PathBuf::from)
                    .collect(),
                false,
            ),
            (None, None) => (
                env.home()
                    .map(|home| home.join(".kube/config"))
                    .into_iter()
                    .collect(),
                false,
            ),
        };
        Connection {
            kubeconfigs,
            explicit,
            context,
            request_timeout: self.request_timeout.0,
            is_interactive: env.stdin_is_terminal,
            proxies: proxies(env),
            pod: pod(env),
            overrides: self.overrides(),
        }
    }
}

/// A Pod's way to its own API server, where the kubelet gave it one.
fn pod(env: &Env) -> Option<Pod> {
    if !Path::new(Pod::FOLDER).join("token").is_file() {
        return None;
    }
    Some(Pod {
        host: env.variable("KUBERNETES_SERVICE_HOST")?.to_owned(),
        port: env.variable("KUBERNETES_SERVICE_PORT")?.to_owned(),
        namespace: env.variable("POD_NAMESPACE").map(str::to_owned),
    })
}

pub(super) fn proxies(env: &Env) -> Environment {
    let either = |upper: &str, lower: &str| {
        let value = env.variable(upper).or(env.variable(lower));
        value.map(str::to_owned)
    };
    Environment {
        https: either("HTTPS_PROXY", "https_proxy"),
        http: either("HTTP_PROXY", "http_proxy"),
        none: either("NO_PROXY", "no_proxy"),
    }
}

/// Why there is no client: the kind, the words and what can be done.
fn connect_error(error: &ConnectError) -> Error {
    let kind = match error {
        ConnectError::Kubeconfig(KubeconfigError::NoContext(_)) => Kind::Configuration,
        _ => Kind::Kubeconfig,
    };
    if let ConnectError::Credentials(CredentialError::Exec(plugin)) = error {
        if let ExecError::Unspecified { .. } | ExecError::Version(_) = plugin {
            return Error::new(kind, plugin.to_string());
        }
        let sentence = format!("Unable to connect to the server: {error}");
        let lines = plugin.hint().into_iter().flat_map(str::lines);
        let lines = lines.filter(|line| !line.trim().is_empty());
        return lines.fold(Error::new(Kind::Unreachable, sentence), Error::hint);
    }
    let hint = match error {
        ConnectError::Kubeconfig(KubeconfigError::None) => {
            Some("name one with --kubeconfig or KUBECONFIG, or read files with --from")
        }
        ConnectError::Kubeconfig(
            KubeconfigError::NoContext(_) | KubeconfigError::NoCurrentContext,
        ) => Some("list the contexts with: kubectl config get-contexts"),
        ConnectError::Credentials(CredentialError::Password(_)) => {
            Some("use a token, a client certificate or a credential plugin")
        }
        ConnectError::Credentials(CredentialError::Provider { .. }) => {
            Some("use the credential plugin (exec) of that provider")
        }
        _ => None,
    };
    let base = Error::new(kind, error.to_string());
    let base = std::error::Error::source(error)
        .into_iter()
        .fold(base, Error::because);
    hint.into_iter().fold(base, Error::hint)
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input options")]
pub(super) struct InputArgs {
    /// Read this bundle, archive, file, folder or standard input (-) instead of the cluster: objects in YAML or JSON, audit
    /// logs, what support tools collect, metrics@COMPONENT:PATH; may be repeated
    #[arg(long, value_name = "PATH", conflicts_with_all = ["kubeconfig", "context"])]
    pub(super) from: Vec<Place>,
    /// Judge deadlines by this time (RFC 3339) instead of the server's, or the newest one in the files
    #[arg(long, value_name = "TIME")]
    pub(super) now: Option<Timestamp>,
}

/// What a bad `--from` means for the user.
pub(super) fn offline_error(error: &OfflineError) -> Error {
    let base = Error::new(Kind::BadData, error.to_string());
    let base = std::error::Error::source(error)
        .into_iter()
        .fold(base, Error::because);
    match error {
        OfflineError::Foreign { .. } => base
            .hint("it reads what `kubectl get -o yaml` or `-o json --show-managed-fields` prints"),
        OfflineError::NamelessMetrics(_) => {
            base.hint("name the component: --from metrics@kube-apiserver:PATH")
        }
        OfflineError::Newer { .. } => base.hint("use a newer kubectl-nominate"),
        OfflineError::Manifest { .. } | OfflineError::Missing(_) | OfflineError::Read { .. } => {
            base
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output options")]
pub(super) struct OutputArgs {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats(), ignore_case = false)]
    pub(super) output: String,
    #[command(flatten)]
    pub(super) look: LookArgs,
}

#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output options")]
pub(super) struct LookArgs {
    /// When to colour the output
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Level of log messages on standard error, 0 to 9
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 0)]
    verbosity: u8,
}

/// All but those of reports of checks.
fn formats() -> PossibleValuesParser {
    let formats = FORMATS.iter();
    let formats = formats.filter(|format| !matches!(format.draw, Draw::Checks(_)));
    PossibleValuesParser::new(formats.map(|format| format.name))
}

pub(super) fn internal(error: &dyn std::error::Error) -> Error {
    Error::new(Kind::Internal, "the answer cannot be written as data").because(error)
}

impl LookArgs {
    /// Turns logging on as `-v` asks; kube's own messages may hold whole bodies and stay out.
    pub(super) fn start_logging(&self) {
        use tracing::Level;
        use tracing_subscriber::layer::SubscriberExt;
        use tracing_subscriber::util::SubscriberInitExt;
        let level = match self.verbosity {
            0 => return,
            1..=3 => Level::INFO,
            4..=7 => Level::DEBUG,
            _ => Level::TRACE,
        };
        let targets = tracing_subscriber::filter::Targets::new()
            .with_target("kube_placement", level)
            .with_default(Level::ERROR);
        let layer = tracing_subscriber::fmt::layer()
            .with_writer(crate::env::raw_stderr)
            .without_time()
            .with_ansi(false);
        // A second start is a test's; the first subscriber stays.
        drop(
            tracing_subscriber::registry()
                .with(layer)
                .with(targets)
                .try_init(),
        );
    }

    /// Draws blocks as tables.
    pub(super) fn draw(&self, blocks: &[Block], env: &mut Env) -> Result<(), Error> {
        self.draw_as("table", blocks, env)
    }

    /// Draws blocks, where the format is one for people.
    fn draw_as(&self, format: &str, blocks: &[Block], env: &mut Env) -> Result<(), Error> {
        if let Some(Draw::People(render)) = render::find(format).map(|format| &format.draw) {
            render(blocks, &self.style(env), &mut env.stdout)?;
        }
        Ok(())
    }

    pub(super) fn style(&self, env: &Env) -> Style {
        let color = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => env.wants_color(),
        };
        Style {
            color,
            width: env.width,
            wide: false,
        }
    }
}

impl OutputArgs {
    pub(super) fn start_logging(&self) {
        self.look.start_logging();
    }

    /// Whether somebody reads the output, and not a program.
    pub(super) fn is_for_people(&self) -> bool {
        render::find(&self.output).is_some_and(|format| matches!(format.draw, Draw::People(_)))
    }

    /// Shows the answer in the chosen format: data from the answer itself, the rest from its blocks.
    pub(super) fn show<A: Serialize>(
        &self,
        answer: &A,
        view: fn(&A) -> Vec<Block>,
        env: &mut Env,
    ) -> Result<(), Error> {
        self.show_with(answer, view, None, env)
    }

    /// The same, with what the server said below it, or as the key `raw`.
    pub(super) fn show_with<A: Serialize>(
        &self,
        answer: &A,
        view: fn(&A) -> Vec<Block>,
        raw: Option<Value>,
        env: &mut Env,
    ) -> Result<(), Error> {
        let no_printer = || {
            let sentence = format!(
                "unable to match a printer suitable for the output format {:?}",
                self.output
            );
            Error::new(Kind::Usage, sentence)
        };
        let format = render::find(&self.output).ok_or_else(no_printer)?;
        match format.draw {
            Draw::People(_) => {
                self.draw(&view(answer), env)?;
                if let (Some(raw), Some(Draw::Data(yaml))) =
                    (raw, render::find("yaml").map(|format| &format.draw))
                {
                    env.stdout.write_all(b"\nRaw:\n")?;
                    if format.name == "markdown" {
                        // Code by its indent alone: no text inside can end it.
                        let mut text = Vec::new();
                        yaml(&raw, &mut text)?;
                        for line in String::from_utf8_lossy(&text).lines() {
                            write!(env.stdout, "\n    {line}")?;
                        }
                        writeln!(env.stdout)?;
                    } else {
                        yaml(&raw, &mut env.stdout)?;
                    }
                }
            }
            // The parser takes none of these.
            Draw::Checks(_) => return Err(no_printer()),
            Draw::Data(render) => {
                let mut value = serde_json::to_value(answer).map_err(|error| internal(&error))?;
                if let (Some(raw), Some(answer)) = (raw, value.as_object_mut()) {
                    answer.insert("raw".to_owned(), raw);
                }
                render(&value, &mut env.stdout)?;
            }
        }
        Ok(())
    }

    /// Parts one answer from the next.
    pub(super) fn divide(&self, env: &mut Env) -> Result<(), Error> {
        let between = render::find(&self.output).map_or("", |format| format.between());
        Ok(env.stdout.write_all(between.as_bytes())?)
    }

    /// Draws blocks, where the format is one for people.
    pub(super) fn draw(&self, blocks: &[Block], env: &mut Env) -> Result<(), Error> {
        self.look.draw_as(&self.output, blocks, env)
    }
}
