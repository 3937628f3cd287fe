//! Lines of a scheduler's log, from the fuzzer. The corpora test replays what was found.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kube_placement::internals::scheduler_log(bytes));
