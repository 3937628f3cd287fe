//! What `--from` names: a path, and what its bytes are where they do not say so themselves.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// `[KIND[@SUBJECT]:]PATH`. A prefix that is no kind belongs to the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// The component that a text of metrics is of: `kube-apiserver` of `metrics@kube-apiserver/a:PATH`.
    pub(crate) component: Option<String>,
}

impl Place {
    /// Whether it is standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        self.path == Path::new("-")
    }
}

impl FromStr for Place {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = text
            .split_once(':')
            .and_then(|(kind, path)| Some((kind.strip_prefix("metrics@")?, path)));
        Ok(match named {
            Some((subject, path)) => {
                let component = subject
                    .split_once('/')
                    .map_or(subject, |(component, _)| component);
                Self {
                    path: path.into(),
                    component: Some(component.to_owned()),
                }
            }
            None => Self {
                // What other kinds there are, their bytes say.
                path: text.strip_prefix("audit:").unwrap_or(text).into(),
                component: None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kind_is_no_part_of_the_path() {
        let of = |text: &str| {
            let Ok(place) = text.parse::<Place>();
            (place.path.display().to_string(), place.component)
        };
        let named = |path: &str| (path.to_owned(), Some("kube-apiserver".to_owned()));
        let plain = |path: &str| (path.to_owned(), None);
        assert_eq!(of("metrics@kube-apiserver:m.txt"), named("m.txt"));
        assert_eq!(of("metrics@kube-apiserver/a:b:c.txt"), named("b:c.txt"));
        assert_eq!(of("audit:log.jsonl"), plain("log.jsonl"));
        assert_eq!(of("shop:pods.json"), plain("shop:pods.json"));
        assert_eq!(of("-"), plain("-"));
    }
}
