//! SIGINT and SIGTERM, which end a command with the codes that shells give: 130 and 143. No other file names a signal.
//!
//! While a future of [`received`] lives, a signal resolves it, so that what runs is dropped in order (a credential plugin
//! is killed, say); at any other time the process ends at once. It must not print.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

#[cfg(unix)]
use signal_hook::consts::{SIGINT, SIGTERM};
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;

/// Whether nobody waits for a signal, so that one ends the process at once.
static UNATTENDED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// Makes both signals end the process with their code, also while it writes to a pipe that nobody reads.
#[cfg(unix)]
pub(crate) fn end_the_process() -> io::Result<()> {
    for (signal, code) in [(SIGINT, INTERRUPTED), (SIGTERM, TERMINATED)] {
        let unattended = Arc::clone(&UNATTENDED);
        signal_hook::flag::register_conditional_shutdown(signal, i32::from(code), unattended)?;
    }
    Ok(())
}

/// Elsewhere the system ends the process.
#[cfg(not(unix))]
pub(crate) fn end_the_process() -> io::Result<()> {
    Ok(())
}

/// Resolves to the exit code when one of the signals arrives; dropping it gives the signals back.
pub(crate) struct Received {
    #[cfg(unix)]
    signals: [(Signal, u8); 2],
}

/// Waits for a signal; inside a runtime.
pub(crate) fn received() -> io::Result<Received> {
    let received = Received {
        #[cfg(unix)]
        signals: [
            (signal(SignalKind::interrupt())?, INTERRUPTED),
            (signal(SignalKind::terminate())?, TERMINATED),
        ],
    };
    UNATTENDED.store(false, Ordering::SeqCst);
    Ok(received)
}

impl Future for Received {
    type Output = u8;

    #[cfg(unix)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u8> {
        for (signal, code) in &mut self.signals {
            if signal.poll_recv(context).is_ready() {
                return Poll::Ready(*code);
            }
        }
        Poll::Pending
    }

    #[cfg(not(unix))]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u8> {
        Poll::Pending
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        UNATTENDED.store(true, Ordering::SeqCst);
    }
}
