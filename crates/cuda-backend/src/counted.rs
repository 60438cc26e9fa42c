//! What the queues of a device hand to the driver.

use backend_api::{Counted, Submissions};

use crate::CudaQueue;

impl Counted for CudaQueue {
    fn submissions(&self) -> Submissions {
        self.device().context().submissions()
    }
}
