//! A file of any kind: compressed, wrapped, or objects, from the fuzzer. The corpora test replays what was found.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kube_placement::internals::audit_file(bytes));
