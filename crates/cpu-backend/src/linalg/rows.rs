use backend_api::ops::linalg::RowOps;

use crate::CpuQueue;

impl RowOps for CpuQueue {}
