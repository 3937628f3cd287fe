//! Who may use a cluster: the users, their tokens, and the rights that limit them.
//!
//! The limited users exist so that tests can show what a command says when it may not see everything. Their rights are
//! named here only; a test must not grant itself more.

use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Value, json};

/// A user with a token and the rules of its cluster role.
struct User {
    name: &'static str,
    rules: &'static [Rule],
}

/// One rule: groups, resources and verbs.
struct Rule {
    groups: &'static [&'static str],
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
}

const READ: &[&str] = &["get", "list", "watch"];

const CLAIMS: Rule = Rule {
    groups: &[""],
    resources: &["persistentvolumeclaims"],
    verbs: READ,
};

const EVENTS: Rule = Rule {
    groups: &[""],
    resources: &["events"],
    verbs: READ,
};

const EVENTS_OF_THE_NEW_API: Rule = Rule {
    groups: &["events.k8s.io"],
    resources: &["events"],
    verbs: READ,
};

const NODES: Rule = Rule {
    groups: &[""],
    resources: &["nodes"],
    verbs: READ,
};

const PODS: Rule = Rule {
    groups: &[""],
    resources: &["pods"],
    verbs: READ,
};

const GET_PODS: Rule = Rule {
    groups: &[""],
    resources: &["pods"],
    verbs: &["get"],
};

/// Sorted by name.
const USERS: &[User] = &[
    // What a monitoring system may: no right to run anything.
    User {
        name: "monitor",
        rules: &[
            NODES,
            Rule {
                groups: &[""],
                resources: &["nodes/metrics"],
                verbs: &["get"],
            },
        ],
    },
    User {
        name: "nobody",
        rules: &[],
    },
    User {
        name: "pods-only",
        rules: &[GET_PODS],
    },
    User {
        name: "recommender",
        rules: &[
            PODS,
            Rule {
                groups: &[""],
                resources: &["pods/status"],
                verbs: &["patch"],
            },
        ],
    },
    User {
        name: "viewer",
        rules: &[
            CLAIMS,
            EVENTS,
            EVENTS_OF_THE_NEW_API,
            NODES,
            PODS,
            Rule {
                groups: &[""],
                resources: &["persistentvolumes"],
                verbs: READ,
            },
            Rule {
                groups: &["coordination.k8s.io"],
                resources: &["leases"],
                verbs: READ,
            },
            Rule {
                groups: &["policy"],
                resources: &["poddisruptionbudgets"],
                verbs: READ,
            },
            Rule {
                groups: &["scheduling.k8s.io"],
                resources: &["priorityclasses"],
                verbs: READ,
            },
        ],
    },
    // Each lacks one of the rights that an explanation uses.
    User {
        name: "without-claims",
        rules: &[EVENTS, EVENTS_OF_THE_NEW_API, NODES, PODS],
    },
    User {
        name: "without-events",
        rules: &[CLAIMS, NODES, PODS],
    },
    User {
        name: "without-lists-of-pods",
        rules: &[CLAIMS, EVENTS, EVENTS_OF_THE_NEW_API, NODES, GET_PODS],
    },
    User {
        name: "without-nodes",
        rules: &[CLAIMS, EVENTS, EVENTS_OF_THE_NEW_API, PODS],
    },
];

/// A limited user's name and token.
pub(crate) struct Token {
    pub(crate) user: &'static str,
    pub(crate) secret: String,
}

/// Draws a token for every limited user: the API server listens where every local user can reach it.
pub(crate) fn tokens() -> Result<Vec<Token>, ring::error::Unspecified> {
    let random = SystemRandom::new();
    USERS
        .iter()
        .map(|user| {
            let mut bytes = [0_u8; 16];
            random.fill(&mut bytes)?;
            let secret = format!("{:032x}", u128::from_be_bytes(bytes));
            Ok(Token {
                user: user.name,
                secret,
            })
        })
        .collect()
}

/// Returns the API server's token file.
pub(crate) fn token_file(tokens: &[Token]) -> String {
    let line = |token: &Token| format!("{0},{1},{1}", token.secret, token.user);
    tokens.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the objects that grant the rights, each with the path that it is created at.
pub(crate) fn grants() -> Vec<(&'static str, Value)> {
    const API: &str = "rbac.authorization.k8s.io";
    let mut objects = Vec::new();
    for user in USERS.iter().filter(|user| !user.rules.is_empty()) {
        let rules: Vec<Value> = user
            .rules
            .iter()
            .map(|rule| json!({"apiGroups": rule.groups, "resources": rule.resources, "verbs": rule.verbs}))
            .collect();
        objects.push((
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            json!({"apiVersion": format!("{API}/v1"), "kind": "ClusterRole", "metadata": {"name": user.name}, "rules": rules}),
        ));
        objects.push((
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            json!({
                "apiVersion": format!("{API}/v1"),
                "kind": "ClusterRoleBinding",
                "metadata": {"name": user.name},
                "roleRef": {"apiGroup": API, "kind": "ClusterRole", "name": user.name},
                "subjects": [{"apiGroup": API, "kind": "User", "name": user.name}],
            }),
        ));
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_sorted_and_every_user_has_a_token_of_its_own() {
        assert!(USERS.is_sorted_by_key(|user| user.name));
        let tokens = tokens().expect("the system has randomness");
        assert_eq!(tokens.len(), USERS.len());
        assert!(
            tokens
                .windows(2)
                .all(|pair| matches!(pair, [a, b] if a.secret != b.secret))
        );
    }
}
