//! The file of a guard: the numbers that `features guard baseline` wrote. It must not judge them.

use std::io::Read;
use std::path::Path;

use super::{document, manifest};
use crate::model::baseline::Baseline;

const KIND: &str = "GuardBaseline";

/// Reads the file, or standard input where it is `-`.
pub(crate) fn read(path: &Path, stdin: &mut dyn Read) -> Result<Baseline, String> {
    let of_file = |why: String| format!("{}: {why}", path.display());
    let values = document::values(&manifest::bytes(path, stdin)?).map_err(of_file)?;
    let found = values.into_iter().find(|value| value["kind"] == KIND);
    let found = found.ok_or_else(|| of_file(format!("it holds no {KIND}")))?;
    serde_json::from_value(found).map_err(|error| of_file(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_baseline_is_said_to_be_none() {
        let of = |text: &str| read(Path::new("-"), &mut text.as_bytes());
        let fault = of("kind: Pod\n").expect_err("it is a Pod");
        assert_eq!(fault, "-: it holds no GuardBaseline");
        let fault = of(r#"{"kind":"GuardBaseline","now":"x","readings":[]}"#);
        assert!(fault.is_err(), "its time is none");
        let yaml = "kind: GuardBaseline\nnow: 2026-01-01T00:00:00Z\nreadings: []\n";
        assert_eq!(of(yaml).map(|it| it.readings.len()), Ok(0));
    }
}
