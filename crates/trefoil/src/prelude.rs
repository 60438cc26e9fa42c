//! The traits whose methods move data: `use trefoil::prelude::*` where a queue uploads or a buffer is viewed.

pub use backend_api::{Buffer, BufferMut, BufferRef, Queue};
