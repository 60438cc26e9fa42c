//! The boundary between domains and devices.
//!
//! A domain checks shapes once into a plan, then calls at most a few coarse ops on a [`Queue`]: an
//! in-order queue of work on one device. A backend implements [`Queue`] and the op sets in [`ops`];
//! it never sees a domain, and a domain never sees a backend. There is no global device and no
//! element access.
//!
//! There are three kinds of failure: a caller's mistake is a domain error, raised before any device
//! work; failures of the environment (memory, device, corrupt words) are a [`BackendError`]; and
//! our own bugs are panics with a reason.
#![forbid(unsafe_code)]

mod budget;
mod buffer;
mod caps;
mod collective;
mod counted;
mod element;
mod error;
mod fork;
pub mod ops;
mod queue;
mod real;
mod record;
mod register;
mod timed;

pub use budget::{Budget, Reservation};
pub use buffer::{Buffer, BufferMut, BufferRef};
pub use caps::{BackendKind, Caps};
pub use collective::{Collective, CollectiveError, Ranks};
pub use counted::{Counted, Submissions};
pub use element::{Element, PlainElement, as_elements, as_words, from_words, not_elements, words_of};
pub use error::BackendError;
pub use fork::Fork;
#[doc(hidden)]
pub use half;
pub use queue::{Mut, Queue, Ref};
pub use real::{DType, Real, RealOp};
pub use record::Record;
pub use register::Register;
pub use timed::Timed;
