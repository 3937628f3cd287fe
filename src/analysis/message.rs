//! Grammar of the scheduler's messages, from 1.5 to 1.37: reasons and counts, with nothing lost.
//!
//! Sources: `FitError.Error` in pkg/scheduler/framework/types.go (1.32 to 1.37), and messages that real
//! schedulers of 1.5 to 1.36 printed. An unknown text is one reason without a count, never zero reasons.

use crate::answer::nomination_explanation::Reason;

/// A message taken apart. Counts overlap: one node can fail for several reasons.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub(crate) nodes_total: Option<u64>,
    pub(crate) reasons: Vec<Reason>,
    /// What preemption said, without its prefix.
    pub(crate) preemption: Option<String>,
}

pub(crate) fn parse(message: &str) -> Parsed {
    let text = message.trim();
    if text.is_empty() {
        return Parsed::default();
    }
    fit_error(text)
        .or_else(|| predicates(text))
        .unwrap_or_else(|| Parsed {
            reasons: vec![Reason {
                text: text.to_owned(),
                nodes: None,
            }],
            ..Parsed::default()
        })
}

/// What 1.36 and 1.37 say of a node that lacks a declared feature; they never name it (kubernetes 1.36.3, 1.37.2
/// `pkg/scheduler/framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go`).
const LACKS_FEATURES: &str = "node(s) didn't match Pod's required features";

/// What 1.35 says; the names follow, in any order.
const LACKS_NAMED_FEATURES: &str =
    "node declared features check failed - unsatisfied requirements: ";

/// Whether a reason is that a node lacks declared features: the names, none where the scheduler's version does not tell them.
pub(crate) fn lacking_features(reason: &str) -> Option<Vec<String>> {
    if reason == LACKS_FEATURES {
        return Some(Vec::new());
    }
    let names = reason.strip_prefix(LACKS_NAMED_FEATURES)?;
    let mut names: Vec<String> = names.split(", ").map(str::to_owned).collect();
    names.sort();
    Some(names)
}

/// `0/N nodes are available: 1 reason, 2 reason. preemption: …`, from 1.9 on.
fn fit_error(text: &str) -> Option<Parsed> {
    let (fraction, rest) = text.split_once(" nodes are available:")?;
    let (_, total) = fraction.rsplit_once('/')?;
    let total: u64 = total.parse().ok()?;
    let (body, post) = sentence(rest.trim_start());
    // The words before "preemption:" come from other plugins, e.g. "no new claims to deallocate, " up to 1.36.
    let (before, preemption) = match post.split_once("preemption: ") {
        Some((before, preemption)) => (before, Some(preemption)),
        None => (post, None),
    };
    let mut reasons = entries(body);
    let extra = before.trim_matches([' ', ',', '.']);
    if !extra.is_empty() {
        reasons.push(Reason {
            text: extra.to_owned(),
            nodes: None,
        });
    }
    Some(Parsed {
        nodes_total: Some(total),
        reasons,
        preemption: preemption.map(|text| text.trim_end_matches('.').to_owned()),
    })
}

/// `… predicates:: PodFitsHostPorts (1), PodToleratesNodeTaints (1).`, up to 1.8.
fn predicates(text: &str) -> Option<Parsed> {
    let list = text
        .split_once("following predicates::")
        .or_else(|| text.split_once("following predicates:"))
        .or_else(|| text.split_once("fit failure summary on nodes :"))?
        .1;
    let reasons = list
        .trim()
        .trim_end_matches('.')
        .split(", ")
        .filter(|entry| !entry.trim().is_empty())
        .map(|entry| {
            let counted = entry
                .trim()
                .strip_suffix(')')
                .and_then(|entry| entry.rsplit_once(" ("));
            match counted.and_then(|(name, count)| Some((name, count.parse().ok()?))) {
                Some((name, count)) => Reason {
                    text: name.to_owned(),
                    nodes: Some(count),
                },
                None => Reason {
                    text: entry.trim().to_owned(),
                    nodes: None,
                },
            }
        })
        .collect();
    Some(Parsed {
        reasons,
        ..Parsed::default()
    })
}

/// Splits off the first sentence: up to a full stop outside of braces and quotes.
fn sentence(text: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut previous_is_stop = false;
    for (index, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => depth = depth.saturating_sub(1),
            ' ' if previous_is_stop => {
                let (first, rest) = text.split_at(index);
                return (first.trim_end_matches('.'), rest.trim_start());
            }
            _ => {}
        }
        previous_is_stop = letter == '.' && depth == 0 && !quoted;
    }
    (text.trim_end_matches('.'), "")
}

/// Entries of a body. A comma parts them only where a count follows: reasons hold commas themselves.
fn entries(body: &str) -> Vec<Reason> {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = body.trim();
    while let Some(at) = next_entry(rest) {
        let (entry, tail) = rest.split_at(at);
        parts.push(entry);
        rest = tail.strip_prefix(", ").unwrap_or(tail);
    }
    parts.push(rest);
    parts
        .into_iter()
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            match entry
                .split_once(' ')
                .and_then(|(count, text)| Some((count.parse().ok()?, text)))
            {
                Some((count, text)) => Reason {
                    text: text.to_owned(),
                    nodes: Some(count),
                },
                None => Reason {
                    text: entry.to_owned(),
                    nodes: None,
                },
            }
        })
        .collect()
}

/// Where the next ", COUNT " begins, outside of braces and quotes.
fn next_entry(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quoted = false;
    for (index, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => depth = depth.saturating_sub(1),
            ',' if depth == 0 && !quoted => {
                let tail = text.split_at(index).1;
                let counted = tail
                    .strip_prefix(", ")
                    .and_then(|tail| tail.split_once(' '))
                    .is_some_and(|(count, _)| {
                        !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit())
                    });
                if counted {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(message: &str) -> Vec<(Option<u64>, String)> {
        parse(message)
            .reasons
            .into_iter()
            .map(|reason| (reason.nodes, reason.text))
            .collect()
    }

    fn one(count: u64, text: &str) -> (Option<u64>, String) {
        (Some(count), text.to_owned())
    }

    #[test]
    fn counts_overlap_and_the_final_stop_may_be_double() {
        let parsed = parse(
            "0/29 nodes are available: 18 Insufficient cpu, 2 Too many pods, 21 Insufficient memory, 8 node(s) had untolerated taint \
             {eks.amazonaws.com/compute-type: fargate}. preemption: 0/29 nodes are available: 1 Insufficient cpu, 18 Insufficient memory, \
             3 No preemption victims found for incoming pod, 8 Preemption is not helpful for scheduling..",
        );
        assert_eq!(parsed.nodes_total, Some(29));
        assert_eq!(
            parsed
                .reasons
                .iter()
                .filter_map(|reason| reason.nodes)
                .sum::<u64>(),
            49
        );
        assert_eq!(
            parsed.reasons[3].text,
            "node(s) had untolerated taint {eks.amazonaws.com/compute-type: fargate}"
        );
        assert!(
            parsed
                .preemption
                .is_some_and(|text| text.starts_with("0/29") && text.ends_with("scheduling"))
        );
    }

    #[test]
    fn shapes_of_all_versions() {
        // 1.5, 1.7
        assert_eq!(
            counts(
                "pod (web-1) failed to fit in any node\nfit failure summary on nodes : PodToleratesNodeTaints (1)"
            ),
            [one(1, "PodToleratesNodeTaints")]
        );
        assert_eq!(
            counts(
                "No nodes are available that match all of the following predicates:: PodFitsHostPorts (1), PodToleratesNodeTaints (1)."
            ),
            [one(1, "PodFitsHostPorts"), one(1, "PodToleratesNodeTaints")]
        );
        // 1.11
        assert_eq!(
            counts(
                "0/72 nodes are available: 23 node(s) didn't match node selector, 43 node(s) didn't have free ports for the requested pod ports, 45 Insufficient cpu."
            ),
            [
                one(23, "node(s) didn't match node selector"),
                one(
                    43,
                    "node(s) didn't have free ports for the requested pod ports"
                ),
                one(45, "Insufficient cpu")
            ]
        );
        // 1.20: a comma inside the reason.
        assert_eq!(
            counts(
                "0/1 nodes are available: 1 node(s) had taint {node-role.kubernetes.io/control-plane: }, that the pod didn't tolerate."
            ),
            [one(
                1,
                "node(s) had taint {node-role.kubernetes.io/control-plane: }, that the pod didn't tolerate"
            )]
        );
        // 1.23: quotes.
        assert_eq!(
            counts(
                r#"0/10 nodes are available: 1 persistentvolumeclaim "foo" bound to non-existent persistentvolume "bar"."#
            ),
            [one(
                1,
                r#"persistentvolumeclaim "foo" bound to non-existent persistentvolume "bar""#
            )]
        );
        // 1.37: preemption found room. 1.35 and 1.36 say nothing here (observed).
        let parsed = parse(
            "0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 1 victims",
        );
        assert_eq!(
            parsed.preemption.as_deref(),
            Some("found a potential placement for pod on node n1, preempting 1 victims")
        );
        // 1.35: words of another plugin before it.
        let parsed = parse(
            "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node.",
        );
        assert_eq!(
            parsed.preemption.as_deref(),
            Some("not eligible due to a terminating pod on the nominated node")
        );
        assert_eq!(parsed.reasons.len(), 2, "the other plugin's words are kept");
    }

    #[test]
    fn lacking_features_are_recognised_among_other_reasons() {
        // 1.37 (observed).
        let parsed = parse(
            "0/6 nodes are available: 1 node(s) didn't match Pod's required features, 5 node(s) didn't match Pod's node affinity/selector. preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling.",
        );
        let lacking = |parsed: &Parsed| {
            let reasons = parsed.reasons.iter();
            reasons
                .filter_map(|it| Some((it.nodes, lacking_features(&it.text)?)))
                .collect::<Vec<_>>()
        };
        assert_eq!(lacking(&parsed), [(Some(1), Vec::new())]);
        // 1.35, whose reason holds a comma and a colon.
        let parsed = parse(
            "0/3 nodes are available: 1 Insufficient cpu, 2 node declared features check failed - unsatisfied requirements: B, A. preemption: none.",
        );
        let names = vec!["A".to_owned(), "B".to_owned()];
        assert_eq!(lacking(&parsed), [(Some(2), names)]);
    }

    #[test]
    fn an_unknown_text_is_one_reason() {
        let binding =
            r#"running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded"#;
        assert_eq!(counts(binding), [(None, binding.to_owned())]);
        assert_eq!(
            counts("minCount (2) cannot be satisfied: 0 scheduled, 1 remaining").len(),
            1
        );
        assert!(counts("").is_empty());
    }

    proptest! {
        #[test]
        fn an_unknown_text_comes_back_whole(text in "[^p ][^p]{0,200}") {
            prop_assume!(!text.trim().is_empty() && !text.contains(" nodes are available:") && !text.contains("nodes :"));
            prop_assert_eq!(counts(&text), vec![(None, text.trim().to_owned())]);
        }

        #[test]
        fn no_half_known_text_panics(text in "(0/[0-9]{0,3})? nodes are available:.{0,120}") {
            prop_assert!(parse(&text).preemption.is_none_or(|preemption| text.contains(&preemption)));
        }

        #[test]
        fn every_count_comes_back(list in prop::collection::vec((1_u64..500, "[a-zA-Z()' ]{0,20}[a-z]\\{[a-z./]{0,8}: [a-z, ]{0,5}\\}"), 1..6)) {
            let body = list.iter().map(|(count, text)| format!("{count} {}", text.trim())).collect::<Vec<_>>().join(", ");
            let parsed = parse(&format!("0/500 nodes are available: {body}. preemption: none."));
            let expected: Vec<u64> = list.iter().map(|(count, _)| *count).collect();
            let found: Vec<u64> = parsed.reasons.iter().filter_map(|reason| reason.nodes).collect();
            prop_assert_eq!(expected, found);
        }
    }
}
