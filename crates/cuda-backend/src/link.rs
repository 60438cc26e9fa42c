//! Properties of the links between devices.

use core::fmt;
use std::collections::HashMap;

use backend_api::BackendError;

/// The link from one device to another. Each direction is a separate link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The device that has the bytes, by its number.
    pub from: u32,
    /// The device that copies them to itself.
    pub to: u32,
    /// How they get there.
    pub route: Route,
    /// Rank of the link among the links of this machine: 0 is the best.
    ///
    /// The driver ranks them. `None` within a device, and if the driver returns no rank.
    pub performance_rank: Option<u32>,
    /// Whether atomics work over the link; `None` likewise.
    pub native_atomics: Option<bool>,
    /// Bytes per second of one long copy by this route, if measured.
    ///
    /// See [`measured_links`](crate::measured_links).
    pub bytes_per_second: Option<f64>,
}

/// How bytes get from one rank to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// Both ranks are on one device.
    Device,
    /// By copies from device to device.
    Peer,
    /// Through pinned memory of the host, and why.
    Host(Detour),
}

/// Why bytes do not go from device to device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detour {
    /// The driver gives these devices no access to each other.
    NoAccess,
    /// A call of the driver was refused that the access or a copy needs.
    Refused(BackendError),
    /// A copy was said to be done, and other bytes were there.
    Wrong {
        /// Bytes that were copied.
        bytes: usize,
        /// Of these, the first that was wrong.
        first: usize,
    },
}

/// The links from other devices, by the numbers of their contexts.
pub(crate) type Links = HashMap<u64, Link>;

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device => f.write_str("within the device"),
            Self::Peer => f.write_str("peer copies"),
            Self::Host(detour) => write!(f, "through the host: {detour}"),
        }
    }
}

impl fmt::Display for Detour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAccess => f.write_str("the driver does not support peer access"),
            Self::Refused(error) => write!(f, "{error}"),
            Self::Wrong { bytes, first } => {
                write!(f, "a copy of {bytes} bytes was reported complete, but byte {first} was wrong")
            }
        }
    }
}
