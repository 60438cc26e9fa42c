//! Op sets on checked ops; the public ones check first.

use backend_api::{checked, op_sets};

use crate::CudaQueue;

op_sets!(checked CudaQueue);
