//! The traits whose methods move data.
//!
//! `use trefoil::prelude::*` to upload to a queue or to view a buffer.

pub use backend_api::{Buffer, BufferMut, BufferRef, Queue};
