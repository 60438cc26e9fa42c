//! Op sets on floating-point elements.
//!
//! Their ops are generic, and compiled here for each element type.

use backend_api::{compiled_by_type, real_op_sets};

use crate::CpuQueue;

real_op_sets!(compiled_by_type CpuQueue);
