//! Whether a kubelet declares a feature: three-valued, and with the reason.
//!
//! Source: `pkg/kubelet/kubelet_node_declared_features.go` (1.35.4, 1.37.2): gates, the CPU manager's policy (1.35), and what the
//! runtime says of itself. It must not take what is not known for off.

use crate::model::version::Release;

/// Whether a feature is declared, and what decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Declaration {
    Yes,
    No(String),
    /// What would have to be known.
    Unknown(String),
}

/// What a kubelet decides by. Each part is null where it is not known.
pub(crate) struct KubeletSettings<'a> {
    pub(crate) release: Release,
    /// The effective value of a gate.
    pub(crate) gates: &'a dyn Fn(&str) -> Option<bool>,
    /// `cpuManagerPolicy`; the kubelet's default is `none`.
    pub(crate) cpu_manager_policy: Option<&'a str>,
    pub(crate) runtime: Runtime,
}

/// What the container runtime supports, as it told the kubelet by CRI when that started. No Node object tells it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Runtime {
    pub(crate) user_namespaces_host_network: Option<bool>,
    pub(crate) mount_options: Option<bool>,
}

impl Declaration {
    /// Both must hold; the second is asked for only where the first does not decide.
    pub(super) fn and(self, second: impl FnOnce() -> Self) -> Self {
        match self {
            Self::No(_) => self,
            Self::Yes => second(),
            Self::Unknown(_) => match second() {
                no @ Self::No(_) => no,
                Self::Yes | Self::Unknown(_) => self,
            },
        }
    }

    /// One of both must hold. Where none does, the first one's reason counts.
    pub(super) fn or(self, second: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Yes => self,
            Self::Unknown(_) => match second() {
                Self::Yes => Self::Yes,
                Self::No(_) | Self::Unknown(_) => self,
            },
            Self::No(_) => match second() {
                Self::No(_) => self,
                other => other,
            },
        }
    }

    fn of(value: Option<bool>, off: impl Into<String>, unknown: impl Into<String>) -> Self {
        match value {
            Some(true) => Self::Yes,
            Some(false) => Self::No(off.into()),
            None => Self::Unknown(unknown.into()),
        }
    }
}

impl KubeletSettings<'_> {
    /// The gate is on.
    pub(super) fn gate(&self, name: &str) -> Declaration {
        Declaration::of(
            (self.gates)(name),
            format!("its gate {name} is off"),
            format!("whether its gate {name} is on is not known"),
        )
    }

    /// The CPU manager has this policy.
    pub(super) fn policy(&self, word: &str) -> Declaration {
        Declaration::of(
            self.cpu_manager_policy.map(|policy| policy == word),
            format!("its CPU manager's policy is not {word}"),
            "its CPU manager's policy is not known",
        )
    }

    /// The runtime supports it.
    pub(super) fn runtime(supports: Option<bool>, what: &str) -> Declaration {
        Declaration::of(
            supports,
            format!("its runtime does not support {what}"),
            format!("whether its runtime supports {what} is not known"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Declaration::{self, No, Unknown, Yes};

    #[test]
    fn what_is_not_known_decides_nothing() {
        let word = |it: Declaration| match it {
            Yes => 'y',
            No(_) => 'n',
            Unknown(_) => 'u',
        };
        let all = || [Yes, No(String::new()), Unknown(String::new())];
        let table = |with: fn(Declaration, Declaration) -> Declaration| -> String {
            let pairs = all()
                .into_iter()
                .flat_map(|one| all().map(|two| (one.clone(), two)));
            pairs.map(|(one, two)| word(with(one, two))).collect()
        };
        assert_eq!(table(|one, two| one.and(|| two)), "ynunnnunu");
        assert_eq!(table(|one, two| one.or(|| two)), "yyyynuyuu");
    }
}
