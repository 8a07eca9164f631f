//! Routes through a network device, and the congestion control of connections that use these
//! routes.

use std::io;
use std::net::Ipv4Addr;

use crate::netlink::{self, attribute};

/// A route to a network through a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// First address of the destination network.
    pub network: Ipv4Addr,
    /// Number of leading bits that identify the destination network; zero for all addresses.
    pub prefix_bits: u8,
    /// Congestion control of connections on the route that do not select an algorithm; if absent,
    /// the default of the namespace.
    pub algorithm: Option<String>,
}

impl Route {
    /// The default route.
    pub fn default_with(algorithm: Option<&str>) -> Self {
        let algorithm = algorithm.map(str::to_owned);
        Self { network: Ipv4Addr::UNSPECIFIED, prefix_bits: 0, algorithm }
    }
}

/// Adds a route through a device of this thread's namespace.
///
/// # Errors
/// Returns an error if there is already a route to this network (`EEXIST`), or the kernel has no
/// such algorithm (`EINVAL`).
pub(crate) fn add(device: &str, route: &Route) -> io::Result<()> {
    let mut body = vec![
        libc::AF_INET as u8,
        route.prefix_bits,
        0, // source prefix
        0, // type of service
        libc::RT_TABLE_MAIN,
        libc::RTPROT_STATIC,
        libc::RT_SCOPE_LINK,
        libc::RTN_UNICAST,
        0,
        0,
        0,
        0,
    ];
    attribute(&mut body, libc::RTA_DST, &route.network.octets());
    attribute(&mut body, libc::RTA_OIF, &netlink::index_of(device)?.to_ne_bytes());
    if let Some(algorithm) = &route.algorithm {
        let mut metrics = Vec::new();
        attribute(&mut metrics, RTAX_CC_ALGO, &[algorithm.as_bytes(), &[0]].concat());
        attribute(&mut body, libc::RTA_METRICS, &metrics);
    }
    netlink::ask(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &body)
}

/// Number of the route attribute for the congestion control, from `linux/rtnetlink.h`.
const RTAX_CC_ALGO: u16 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Namespace;
    use crate::privilege::skip_unprivileged;

    #[test]
    fn a_route_is_added_once_and_only_with_an_algorithm_that_exists() {
        if skip_unprivileged() {
            return;
        }
        let namespace = Namespace::new().expect("a namespace");
        let route = |network: [u8; 4], algorithm: Option<&str>| Route {
            network: network.into(),
            prefix_bits: 25,
            algorithm: algorithm.map(str::to_owned),
        };
        let try_to = |route: Route| namespace.run(|| add("lo", &route));
        try_to(route([100, 64, 0, 128], Some("reno"))).expect("added");
        let error = try_to(route([100, 64, 0, 128], None)).expect_err("there is one");
        assert_eq!(error.raw_os_error(), Some(libc::EEXIST));
        let error = try_to(route([100, 64, 1, 128], Some("nonsuch"))).expect_err("none such");
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }
}
