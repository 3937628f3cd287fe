//! `kubectl features rbac`: roles of a reader, and policies for declared features. It only prints: it asks no server and writes nothing.

use std::io::Write;

use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

use crate::analysis::declared::{self, policy};
use crate::analysis::gates::{skew, wants};
use crate::analysis::reader;
use crate::check::preflight as checks;
use crate::env::Env;
use crate::error::{Error, Kind, exit};
use crate::model::grant::Subject;
use crate::model::want::Want;
use crate::render::{self, Draw};

const EXAMPLES: &str = "
Examples:
  # Let the group \"auditors\" run declared and skew
  kubectl features rbac declared skew --group auditors | kubectl apply -f -

  # Let only kubelets change what their Nodes declare
  kubectl features rbac --protect | kubectl apply -f -

  # Stop new Pods that need a feature, before its gate is turned off
  kubectl features rbac --block RestartAllContainersOnContainerExits | kubectl apply -f -

";

/// Commands that read a cluster, sorted, each with its possible reads.
const COMMANDS: [(&str, Reads); 6] = [
    ("collect", |request| {
        [wants::possible(request), vec![Want::NodeLeases]].concat()
    }),
    ("declared", |request| {
        declared::wants::possible(&declared::Request {
            observation: request.clone(),
            ..declared::Request::default()
        })
    }),
    ("preflight", checks::possible),
    ("skew", wants::possible),
    ("snapshot", wants::possible),
    ("writers", |_| {
        declared::writers::wants().into_iter().collect()
    }),
];

type Reads = fn(&skew::Request) -> Vec<Want>;

/// Print the roles that a reader needs, or policies that guard declared features
///
/// Prints objects for kubectl apply and changes nothing itself. Roles are made of what each command may come to read;
/// \"writers\" is declared --writers. Kubelets are read through the API server, which takes nodes/proxy, a right to run anything in
/// every Pod: --direct-kubelets needs nodes/metrics and nodes/configz instead. Schedulers and controller managers are read through
/// their Pods, which takes pods/portforward in kube-system, a right to every port of every Pod there: take it out of what is
/// printed where that is too much, and they are not read.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(super) struct RbacArgs {
    /// Commands to print roles for; without one, and without a policy, all of them
    #[arg(value_name = "COMMAND", value_parser = PossibleValuesParser::new(COMMANDS.map(|(name, _)| name)))]
    commands: Vec<String>,
    /// Print a policy by which only the kubelet of a Node changes what the Node declares
    #[arg(long)]
    protect: bool,
    /// Print a policy that stops new Pods which need this feature; may be repeated
    #[arg(long, value_name = "FEATURE")]
    block: Vec<String>,
    /// Print bindings to this user, too
    #[arg(long, value_name = "NAME", group = "whom")]
    user: Option<String>,
    /// Print bindings to this group, too
    #[arg(long, value_name = "NAME", group = "whom")]
    group: Option<String>,
    /// Print bindings to this service account, too
    #[arg(long, value_name = "NAMESPACE:NAME", group = "whom", value_parser = service_account)]
    serviceaccount: Option<Subject>,
    /// Reach kubelets at their own addresses, not through the API server
    #[arg(long)]
    direct_kubelets: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml", value_parser = ["yaml", "json"])]
    output: String,
}

fn service_account(text: &str) -> Result<Subject, String> {
    let parts = text
        .split_once(':')
        .filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    let (namespace, name) = parts.ok_or_else(|| "give NAMESPACE:NAME".to_owned())?;
    Ok(Subject {
        kind: "ServiceAccount".to_owned(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    })
}

impl RbacArgs {
    fn subject(&self) -> Option<Subject> {
        let of = |kind: &str, name: &Option<String>| {
            name.clone().map(|name| Subject {
                kind: kind.to_owned(),
                namespace: None,
                name,
            })
        };
        of("User", &self.user)
            .or_else(|| of("Group", &self.group))
            .or_else(|| self.serviceaccount.clone())
    }
}

pub(super) fn run(args: &RbacArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    let subject = args.subject();
    let request = skew::Request {
        direct_kubelets: args.direct_kubelets,
        ..skew::Request::default()
    };
    let is_policy = args.protect || !args.block.is_empty();
    let is_meant = |name: &str| {
        args.commands.iter().any(|it| it == name) || (args.commands.is_empty() && !is_policy)
    };

    // Analyse.
    let mut objects = Vec::new();
    for (name, reads) in COMMANDS.iter().filter(|(name, _)| is_meant(name)) {
        objects.extend(reader::roles(name, &reads(&request), subject.as_ref()));
    }
    if args.protect {
        objects.extend(policy::protection());
    }
    for feature in &args.block {
        objects.extend(policy::block(feature).ok_or_else(|| no_rule(feature))?);
    }

    // Show.
    show(&objects, &args.output, env)?;
    Ok(exit::DONE)
}

fn no_rule(feature: &str) -> Error {
    let sentence = format!("no Pod needs the feature {feature:?} of a node to be scheduled there");
    let known: Vec<&str> = policy::blockable().collect();
    Error::new(Kind::Usage, sentence).hint(format!("features that Pods need: {}", known.join(", ")))
}

/// Documents one after the other in YAML, a List in JSON: either is what kubectl reads.
fn show(objects: &[Value], format: &str, env: &mut Env) -> Result<(), Error> {
    let Some(Draw::Data(render)) = render::find(format).map(|format| &format.draw) else {
        return Err(Error::new(Kind::Internal, "no such format"));
    };
    if format == "json" {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        render(&list, &mut env.stdout)?;
        return Ok(());
    }
    for (nth, object) in objects.iter().enumerate() {
        if nth > 0 {
            env.stdout.write_all(b"---\n")?;
        }
        render(object, &mut env.stdout)?;
    }
    Ok(())
}
