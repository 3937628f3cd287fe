//! Decodes discovery.k8s.io/v1 `EndpointSlice`: the addresses of the API server (`kubernetes` in `default`). Others tell nothing here.

use serde::Deserialize;

use super::{Metadata, list};
use crate::model::fact::Content;
use crate::model::replica::Replica;

#[derive(Deserialize)]
struct EndpointSlice {
    metadata: Metadata,
    #[serde(default, deserialize_with = "list")]
    endpoints: Vec<Endpoint>,
    #[serde(default, deserialize_with = "list")]
    ports: Vec<Port>,
}

#[derive(Deserialize)]
struct Endpoint {
    #[serde(default, deserialize_with = "list")]
    addresses: Vec<String>,
}

#[derive(Deserialize)]
struct Port {
    #[serde(default)]
    port: Option<u16>,
}

pub(super) fn decode(json: &str) -> Result<Content, serde_json::Error> {
    let slice: EndpointSlice = serde_json::from_str(json)?;
    let is_servers = slice.metadata.name == "kubernetes"
        && slice.metadata.namespace.as_deref() == Some("default");
    if !is_servers {
        return Ok(Content::Replicas(Vec::new()));
    }
    let port = slice.ports.iter().find_map(|port| port.port).unwrap_or(443);
    let addresses = slice.endpoints.into_iter().flat_map(|it| it.addresses);
    Ok(Content::Replicas(
        addresses
            .map(|address| {
                Replica::Address(if address.contains(':') {
                    format!("[{address}]:{port}")
                } else {
                    format!("{address}:{port}")
                })
            })
            .collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_a_replica() {
        let of = |name: &str| {
            decode(&format!(
                r#"{{"metadata": {{"name": "{name}", "namespace": "default"}}, "ports": [{{"port": 6443}}],
                "endpoints": [{{"addresses": ["10.0.0.1"]}}, {{"addresses": ["::1"]}}]}}"#
            ))
            .expect("it is an EndpointSlice")
        };
        let address = |text: &str| Replica::Address(text.to_owned());
        let due = vec![address("10.0.0.1:6443"), address("[::1]:6443")];
        assert_eq!(of("kubernetes"), Content::Replicas(due));
        assert_eq!(of("web"), Content::Replicas(vec![]));
    }
}
