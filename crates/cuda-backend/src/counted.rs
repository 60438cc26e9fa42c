//! Counts of the submissions of a device's queues to the driver.

use backend_api::{Counted, Submissions};

use crate::CudaQueue;

impl Counted for CudaQueue {
    fn submissions(&self) -> Submissions {
        self.device().context().submissions()
    }
}
