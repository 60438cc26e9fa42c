//! What a queue that is chosen at run time hands over.

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
