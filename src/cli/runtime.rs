//! The runtime that drives a command's requests on one thread, and what ends them early.
//!
//! It must not know what is asked.

use std::pin::pin;

use futures_util::future::{Either, select};

use crate::error::{Error, Kind};
use crate::signal;

/// A runtime whose end waits for nothing: a name that is still being looked up must not hold the command up.
pub(super) struct Runtime(Option<tokio::runtime::Runtime>);

impl Runtime {
    pub(super) fn start() -> Result<Self, Error> {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map(|runtime| Self(Some(runtime)))
            .map_err(|error| broken(&error))
    }

    /// Drives the future to its end, or until SIGINT or SIGTERM.
    pub(super) fn block_on<T>(&self, future: impl Future<Output = T>) -> Result<T, Error> {
        let Some(runtime) = &self.0 else {
            unreachable!("only drop takes the runtime away");
        };
        runtime.block_on(async {
            let signal = signal::received().map_err(|error| broken(&error))?;
            match select(signal, pin!(future)).await {
                Either::Left((code, _)) => {
                    Err(Error::new(Kind::Interrupted(code), "ended by a signal"))
                }
                Either::Right((done, _)) => Ok(done),
            }
        })
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

fn broken(error: &std::io::Error) -> Error {
    Error::new(Kind::Internal, "the runtime cannot be started").because(error)
}
