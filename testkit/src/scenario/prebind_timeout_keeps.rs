//! Scenario: the scheduler gives up on a volume that nobody provides, and keeps the nomination.
//!
//! Observed on 1.35.4: the patch that says so leaves the nomination, which then points where nothing goes on (from 1.36
//! on it is cleared, see `prebind_timeout_clears`).

use super::Scenario;
use super::prebind_timeout_clears::time_out;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "prebind-timeout-keeps",
    about: "A volume is not there in time, and the scheduler keeps the nomination.",
    moments: &["timed-out"],
    plays_on: |minor| minor == 35,
    run: |stage| Box::pin(time_out(stage, "n1")),
};
