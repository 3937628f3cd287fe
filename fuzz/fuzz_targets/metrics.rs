//! Texts of metrics, from the fuzzer. The corpora test replays what was found.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kube_placement::internals::metrics(bytes));
