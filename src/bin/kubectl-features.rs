//! The file that kubectl runs for `kubectl features`; everything is in the library.

fn main() -> std::process::ExitCode {
    kube_placement::features()
}
