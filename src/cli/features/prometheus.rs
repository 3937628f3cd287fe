//! `--prometheus`: numbers of schedulers and API servers from there, instead of from themselves. It must not ask it.

use std::path::PathBuf;

use crate::cli::arguments::{ConnectionArgs, proxies};
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::source::prometheus::{Address, Prometheus, PrometheusError, Reach, Selector};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Prometheus options")]
pub(super) struct PrometheusArgs {
    /// Take what schedulers and API servers count from the Prometheus at this address, which may have a path, instead of from them
    #[arg(long, value_name = "URL", conflicts_with = "from")]
    prometheus: Option<String>,
    /// Certificates that sign that of the Prometheus, instead of the system's
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    prometheus_ca: Option<String>,
    /// Send it the bearer token in this file, over https alone
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    prometheus_token_file: Option<PathBuf>,
    /// Only series with this label, where it scrapes more than one cluster; may be repeated
    #[arg(long, value_name = "LABEL=VALUE", requires = "prometheus")]
    prometheus_selector: Vec<Selector>,
}

impl PrometheusArgs {
    pub(super) fn is_given(&self) -> bool {
        self.prometheus.is_some()
    }

    /// Its address; what is wrong with one does not show it, since it may hold a password.
    pub(super) fn address(&self) -> Result<Option<Address>, Error> {
        let address = self.prometheus.as_deref().map(str::parse).transpose();
        address.map_err(|why: String| Error::new(Kind::Usage, format!("--prometheus: {why}")))
    }

    /// Somebody to ask; null where nobody is named.
    pub(super) fn connect(
        &self,
        connection: &ConnectionArgs,
        env: &Env,
    ) -> Result<Option<Prometheus>, Error> {
        let Some(address) = &self.address()? else {
            return Ok(None);
        };
        let reach = Reach {
            address,
            authority_file: self.prometheus_ca.as_deref(),
            token_file: self.prometheus_token_file.as_deref(),
            selectors: &self.prometheus_selector,
            limit: connection.limit(),
        };
        let connected = Prometheus::connect(&reach, &proxies(env));
        connected.map(Some).map_err(|error| {
            let kind = match error {
                PrometheusError::TokenInTheClear => Kind::Usage,
                _ => Kind::BadData,
            };
            Error::new(kind, format!("--prometheus: {error}"))
        })
    }
}
