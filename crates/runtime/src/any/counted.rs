//! Submission counts of a queue chosen at run time.

use backend_api::{Counted, Submissions};

use super::AnyQueue;

impl Counted for AnyQueue {
    fn submissions(&self) -> Submissions {
        match self {
            Self::Cpu(queue) => queue.submissions(),
            #[cfg(feature = "cuda")]
            Self::Cuda(queue) => queue.submissions(),
        }
    }
}
