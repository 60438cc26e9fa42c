//! Exchanges of data between the queues of several devices.
//!
//! [`Staged`] makes a [`Collective`](backend_api::Collective) of any [`Transport`] that carries
//! messages between hosts or threads: sent data is read from the queue, and received data is
//! written to it. [`Local`] is the transport between threads of one process.
//!
//! ```
//! use std::thread;
//!
//! use backend_api::{Buffer, Collective, Queue, Ranks};
//! use collective::Local;
//! use cpu_backend::{CpuConfig, CpuQueue};
//!
//! thread::scope(|scope| {
//!     for ranks in Local::group(2) {
//!         scope.spawn(move || {
//!             let q = CpuQueue::open(CpuConfig::default()).unwrap();
//!             let mut sums = q.upload(&[0u32; 2]).unwrap();
//!             let own = ranks.rank();
//!             q.write(&[7 + own as u32], sums.slice_mut(own..own + 1).unwrap()).unwrap();
//!             ranks.all_gather(&q, &mut sums, &[0..1, 1..2]).unwrap();
//!             assert_eq!(q.download(&sums).unwrap(), [7, 8]);
//!         });
//!     }
//! });
//! ```
#![forbid(unsafe_code)]

mod call;
mod local;
mod sent;
mod staged;
mod transport;

pub use call::Call;
pub use local::{Local, PATIENCE};
pub use sent::Sent;
pub use staged::Staged;
pub use transport::{Message, Transport};
