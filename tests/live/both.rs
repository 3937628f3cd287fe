//! Runs `kubectl get pod` and `explain` under the same conditions, and holds what came of them against each other.
//!
//! It must not know what the conditions mean.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

use testkit::Cluster;

use crate::plugin::{Run, same};

/// What both are asked for: a Pod that is nowhere, so that the server's answer tells who got through.
const POD: &str = "absent";

/// How the two have to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Both get the server's answer: there is no such Pod.
    Works,
    /// Both get the same refusal of the server, with these words.
    Refused(&'static str),
    /// Neither gets an answer, and ours says this.
    Fails(&'static str),
    /// Ours gets the server's answer and kubectl does not: docs/connections.md says why.
    WorksHereOnly,
}

/// What both run under.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions<'a> {
    pub(crate) flags: Vec<&'a str>,
    pub(crate) variables: Vec<(&'a str, &'a str)>,
    /// Words that come before the command.
    pub(crate) wrapper: Vec<&'a str>,
    /// Where kubectl keeps what it has discovered.
    pub(crate) home: Option<&'a Path>,
}

impl<'a> Conditions<'a> {
    pub(crate) fn at(home: &'a Path) -> Self {
        Self {
            home: Some(home),
            ..Self::default()
        }
    }

    pub(crate) fn flags(mut self, flags: &[&'a str]) -> Self {
        self.flags.extend(flags);
        self
    }

    pub(crate) fn variables(mut self, variables: &[(&'a str, &'a str)]) -> Self {
        self.variables.extend(variables);
        self
    }

    pub(crate) fn run(&self, cluster: &Cluster, words: &[&str]) -> Result<Run, Box<dyn Error>> {
        let home = self.home.ok_or("no home")?;
        let plugin = Path::new(env!("CARGO_BIN_EXE_kubectl-nominate"));
        let plugins = plugin.parent().ok_or("the plugin is in no folder")?;
        let kubectl = cluster.kubectl();
        let mut command = match self.wrapper.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(&kubectl);
                command
            }
            None => Command::new(&kubectl),
        };
        let output = command
            .args(words)
            .args([POD])
            .args(&self.flags)
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .env(
                "PATH",
                format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", plugins.display()),
            )
            .envs(self.variables.iter().copied())
            .stdin(Stdio::null())
            .output()?;
        let stderr = String::from_utf8(output.stderr)?;
        // kubectl's own log lines; klog begins them with E, month and day.
        let is_log = |line: &str| {
            line.strip_prefix('E')
                .is_some_and(|rest| rest.chars().take(4).all(|letter| letter.is_ascii_digit()))
        };
        let lines = stderr.split_inclusive('\n').filter(|line| !is_log(line));
        Ok(Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: lines.collect(),
        })
    }

    /// Runs both, and fails unless they end as is due; gives back kubectl's run, then ours.
    pub(crate) fn hold(&self, cluster: &Cluster, due: Due) -> Result<[Run; 2], Box<dyn Error>> {
        let get = self.run(cluster, &["get", "pod"])?;
        let explain = self.run(cluster, &["nominate", "explain"])?;
        let got_through = |run: &Run| run.stderr.contains("(NotFound): pods \"absent\" not found");
        let told = match due {
            Due::Works => {
                got_through(&get) && got_through(&explain) && get.stderr == explain.stderr
            }
            Due::Refused(words) => get.stderr.contains(words) && get.stderr == explain.stderr,
            Due::Fails(words) => {
                !got_through(&get) && !got_through(&explain) && explain.stderr.contains(words)
            }
            Due::WorksHereOnly => !got_through(&get) && got_through(&explain),
        };
        if told {
            same(&(get.code, explain.code), &(Some(1), Some(1)))?;
            return Ok([get, explain]);
        }
        Err(format!("{self:?}: {due:?} is due\nkubectl: {get:?}\nexplain: {explain:?}").into())
    }
}
