//! The function-secret-sharing op set.
//!
//! By default AES uses lookups in shared memory, in a table that each of the 32 banks holds whole
//! and that a lane reads only in its own bank. No two lookups of a warp collide, so the time does
//! not depend on the indices; the addresses do, and the indices come from labels that are secrets
//! of this party or of the dealer. This matters if others share the GPU, against whom the op set
//! then promises nothing. Under [`AesKernel::Bitsliced`](crate::AesKernel::Bitsliced) the ops of a
//! party, `cmp_eval_window`, `dcf_eval_window` and `cmp_eval_all`, look nothing up; the dealer's
//! ops do.

use backend_api::{
    BackendError, Queue as _,
    ops::fss::{
        CmpAllShape, CmpEvalAll, CmpEvalWindow, CmpGen, CmpGenShape, CmpShape, DcfEvalWindow, DcfGen, DcfGenShape,
        DcfShape, PackBits, PackShape, UnpackBits,
    },
};

use crate::checked::FssOps;
use crate::{CudaQueue, launch::fss};

/// Width at which packed and unpacked elements are the same words.
const WHOLE_WORDS: u32 = 64;

impl FssOps for CudaQueue {
    fn cmp_eval_window(&self, op: CmpEvalWindow<'_, Self>, _: CmpShape) -> Result<(), BackendError> {
        fss::cmp_eval_window(self, &op)
    }

    fn cmp_eval_all(&self, op: CmpEvalAll<'_, Self>, _: CmpAllShape) -> Result<(), BackendError> {
        fss::cmp_eval_all(self, &op)
    }

    fn cmp_gen(&self, op: CmpGen<'_, Self>, _: CmpGenShape) -> Result<(), BackendError> {
        fss::cmp_gen(self, &op)
    }

    fn dcf_eval_window(&self, op: DcfEvalWindow<'_, Self>, _: DcfShape) -> Result<(), BackendError> {
        fss::dcf_eval_window(self, &op)
    }

    fn dcf_gen(&self, op: DcfGen<'_, Self>, _: DcfGenShape) -> Result<(), BackendError> {
        fss::dcf_gen(self, &op)
    }

    fn pack_bits(&self, op: PackBits<'_, Self>, _: PackShape) -> Result<(), BackendError> {
        if op.params.bits == WHOLE_WORDS {
            return self.copy(op.elements, op.words);
        }
        fss::pack_bits(self, &op)
    }

    fn unpack_bits(&self, op: UnpackBits<'_, Self>, _: PackShape) -> Result<(), BackendError> {
        if op.params.bits == WHOLE_WORDS {
            return self.copy(op.words, op.elements);
        }
        fss::unpack_bits(self, &op)
    }
}
