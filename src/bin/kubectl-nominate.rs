//! The file that kubectl runs for `kubectl nominate`; everything is in the library.

fn main() -> std::process::ExitCode {
    kube_placement::nominate()
}
