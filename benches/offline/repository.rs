//! `preflight` of a checkout of 200 files without a cluster, beside a parser that only reads the same YAML.

use std::fmt::Write as _;
use std::path::Path;

use crate::Result;
use crate::cost::{RUNS, costs, ratio};
use crate::section::Section;

const FILES: usize = 200;

/// What a check of a pull request may take.
const DUE_MILLISECONDS: f64 = 50.0;

/// libyaml's parser, without a model of anything.
const PARSE: &str = "import os, sys, yaml
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name)) as file:
            list(yaml.load_all(file, yaml.CSafeLoader))
";

pub(crate) fn run(_root: &Path, folder: &Path) -> Result<Section> {
    for number in 0..FILES {
        let (name, text) = file(number);
        let place = folder.join(format!("team-{}", number % 10)).join(name);
        if let Some(above) = place.parent() {
            std::fs::create_dir_all(above)?;
        }
        std::fs::write(place, text)?;
    }
    let ours = [
        env!("CARGO_BIN_EXE_kubectl-features"),
        "preflight",
        "--to-version",
        "1.37",
        "--from",
    ];
    let theirs = ["python3", "-c", PARSE];
    let [ours, theirs] = costs([&ours, &theirs], &[folder, folder])?;
    let ours_once = ours.ok_or("it is built")?;
    let milliseconds = ours_once.wall.as_secs_f64() * 1e3;
    let about = format!(
        "`preflight --from` a checkout of {FILES} files: kubelets' and kubeadm's configuration, static Pods, and as many objects of applications. Written by \
         `make bench-offline`; the fastest of {RUNS} runs. The parser is libyaml's, by python3, which reads the same files and judges nothing."
    );
    let mut section = Section::titled("## A checkout of configuration\n", &about);
    let mut table =
        "| command | time | peak memory | ratio | goal |\n|---|---|---|---|---|\n".to_owned();
    let times = ratio(theirs, ours).map_or_else(|| "-".to_owned(), |it| format!("{it:.1}"));
    let met = if milliseconds <= DUE_MILLISECONDS {
        "met"
    } else {
        "missed"
    };
    writeln!(
        table,
        "| preflight | {milliseconds:.0} ms | {} MiB | {times} | at most {DUE_MILLISECONDS:.0} ms: {met} |",
        ours_once.memory >> 20
    )?;
    match theirs {
        Some(cost) => writeln!(
            table,
            "| python3, yaml.CSafeLoader | {:.0} ms | {} MiB | | |",
            cost.wall.as_secs_f64() * 1e3,
            cost.memory >> 20
        )?,
        None => writeln!(table, "| python3, yaml.CSafeLoader | not installed | | | |")?,
    }
    section.text.push_str(&table);
    Ok(section)
}

fn file(number: usize) -> (String, String) {
    match number % 4 {
        0 => (
            format!("kubelet-{number}.yaml"),
            format!(
                "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nclusterDNS: [10.96.0.10]\nmaxPods: {number}\nfeatureGates:\n  GracefulNodeShutdown: true\n  InPlacePodVerticalScaling: true\nevictionHard:\n  memory.available: 100Mi\n"
            ),
        ),
        1 if number == 1 => (
            "kubeadm.yaml".to_owned(),
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.3\napiServer:\n  extraArgs:\n  - {name: feature-gates, value: \"HPAScaleToZero=true\"}\n".to_owned(),
        ),
        2 if number == 2 => (
            "kube-scheduler.yaml".to_owned(),
            "apiVersion: v1\nkind: Pod\nmetadata: {name: kube-scheduler, namespace: kube-system}\nspec:\n  containers:\n  - name: kube-scheduler\n    image: registry.k8s.io/kube-scheduler:v1.36.3\n    command:\n    - kube-scheduler\n    - --feature-gates=OpportunisticBatching=false\n".to_owned(),
        ),
        _ => {
            let ports: String = (0..20).fold(String::new(), |mut text, port| {
                // Writing to a String cannot fail.
                writeln!(text, "        - {{name: p{port}, containerPort: {}}}", 8000 + port)
                    .unwrap_or_default();
                text
            });
            (
                format!("app-{number}.yaml"),
                format!(
                    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: app-{number}}}\nspec:\n  selector: {{matchLabels: {{app: a}}}}\n  template:\n    metadata: {{labels: {{app: a}}}}\n    spec:\n      containers:\n      - name: app\n        image: registry.example.com/app:{number}\n        ports:\n{ports}---\napiVersion: v1\nkind: Service\nmetadata: {{name: app-{number}}}\nspec: {{selector: {{app: a}}, ports: [{{port: 80}}]}}\n"
                ),
            )
        }
    }
}
