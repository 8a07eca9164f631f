//! The network of a run on the kernel: one namespace for the network side and one for each user.

use std::io;
use std::net::Ipv4Addr;

use cwndlab_emu::{Namespace, Route, Tun, TunConfig};
use cwndlab_scenario::{FlowConfig, Scenario};

/// First of the addresses that network operators use within their networks (RFC 6598 section 7).
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);

/// Network namespaces with one TUN device each.
#[derive(Debug)]
pub(crate) struct Bed {
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) tuns: Vec<Tun>,
}

impl Bed {
    /// Creates the network for `users` users.
    pub(crate) fn new(users: u16) -> io::Result<Self> {
        let mut bed = Self { namespaces: Vec::new(), tuns: Vec::new() };
        for port in 0..=users {
            let namespace = Namespace::new()?;
            let config = TunConfig {
                name: format!("cwndlab{port}"),
                address: address(port),
                routes: vec![Route::default_with(None)],
            };
            bed.tuns.push(Tun::new(&namespace, &config)?);
            bed.namespaces.push(namespace);
        }
        Ok(bed)
    }
}

/// The address at a port of the link.
pub(crate) fn address(port: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST_ADDRESS.to_bits() + u32::from(port))
}

/// The ports of a flow's sender and receiver.
pub(crate) fn ports(scenario: &Scenario, flow: &FlowConfig) -> [u16; 2] {
    // If the path does not distinguish users, they share a namespace.
    let user = scenario.path.users().map_or(1, |_| flow.user.get());
    [flow.direction.port(user), flow.direction.opposite().port(user)]
}
