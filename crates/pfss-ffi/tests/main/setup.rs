//! A backend, a dealer, copies of bytes, and the statuses of calls, for all tests.

use core::{
    ffi::CStr,
    ptr::{null, null_mut},
    slice,
};

use trefoil_pfss::{
    Backend, BatchHandle, Bytes, DealerHandle, Evaluation, GateHandle, GateParameters, Keys, PlanHandle, Status,
    trefoil_pfss_backend_free, trefoil_pfss_backend_open, trefoil_pfss_batch_masked, trefoil_pfss_batch_pending,
    trefoil_pfss_bytes_data, trefoil_pfss_bytes_free, trefoil_pfss_bytes_len, trefoil_pfss_deal,
    trefoil_pfss_dealer_free, trefoil_pfss_dealer_open, trefoil_pfss_evaluation_masked_bits,
    trefoil_pfss_evaluation_pending, trefoil_pfss_keys_read, trefoil_pfss_plan_deal,
};

pub(crate) const OK: Status = Status::TREFOIL_PFSS_OK;
pub(crate) const ARGUMENT: Status = Status::TREFOIL_PFSS_ARGUMENT;
pub(crate) const LENGTH: Status = Status::TREFOIL_PFSS_LENGTH;
pub(crate) const BUNDLE: Status = Status::TREFOIL_PFSS_BUNDLE;
pub(crate) const PROGRAM: Status = Status::TREFOIL_PFSS_PROGRAM;
pub(crate) const STATE: Status = Status::TREFOIL_PFSS_STATE;

/// A backend, and a dealer with randomness from the operating system.
pub(crate) struct Setup {
    pub(crate) backend: *mut Backend,
    pub(crate) dealer: *mut DealerHandle,
}

impl Setup {
    /// On the processor.
    pub(crate) fn new() -> Self {
        Self::on(c"cpu")
    }

    /// A backend by its name.
    pub(crate) fn on(name: &CStr) -> Self {
        let (mut backend, mut dealer) = (null_mut(), null_mut());
        // SAFETY: places for handles, and a string that ends with a zero byte.
        unsafe {
            assert_eq!(trefoil_pfss_backend_open(name.as_ptr(), &mut backend), OK);
            assert_eq!(trefoil_pfss_dealer_open(&mut dealer), OK);
        }
        Self { backend, dealer }
    }

    /// Both parties' keys of a gate for `count` elements.
    ///
    /// # Safety
    /// A live handle.
    pub(crate) unsafe fn deal(&self, gate: *mut GateHandle, count: usize) -> [Vec<u8>; 2] {
        let [mut zero, mut one] = [null_mut(); 2];
        // SAFETY: live handles, the gate by the caller's promise, and places for handles.
        assert_eq!(unsafe { trefoil_pfss_deal(self.dealer, self.backend, gate, count, &mut zero, &mut one) }, OK);
        [zero, one].map(owned)
    }

    /// Both parties' keys of a plan.
    ///
    /// # Safety
    /// A live handle.
    pub(crate) unsafe fn deal_plan(&self, plan: *mut PlanHandle) -> [Vec<u8>; 2] {
        let [mut zero, mut one] = [null_mut(); 2];
        // SAFETY: live handles, the plan by the caller's promise, and places for handles.
        assert_eq!(unsafe { trefoil_pfss_plan_deal(self.dealer, self.backend, plan, &mut zero, &mut one) }, OK);
        [zero, one].map(owned)
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        // SAFETY: live handles, freed once.
        unsafe {
            trefoil_pfss_dealer_free(self.dealer);
            trefoil_pfss_backend_free(self.backend);
        }
    }
}

/// The parameters of a gate that has at most a shift.
pub(crate) fn parameters(n: u32, shift: u32) -> GateParameters {
    GateParameters { n, shift, min: 0, max: 0, word_bits: 0, table: null(), table_len: 0 }
}

/// A copy of bytes, whose handle is freed.
pub(crate) fn owned(bytes: *mut Bytes) -> Vec<u8> {
    // SAFETY: a live handle, freed once, and its bytes before that.
    unsafe {
        let (data, len) = (trefoil_pfss_bytes_data(bytes), trefoil_pfss_bytes_len(bytes));
        let copy = slice::from_raw_parts(data, len).to_vec();
        trefoil_pfss_bytes_free(bytes);
        copy
    }
}

/// Keys from their bytes.
pub(crate) fn keys_of(bytes: &[u8]) -> *mut Keys {
    let mut keys = null_mut();
    // SAFETY: an array of the given length, and a place for a handle.
    assert_eq!(unsafe { trefoil_pfss_keys_read(bytes.as_ptr(), bytes.len(), &mut keys) }, OK);
    keys
}

/// The masked bits of an evaluation for the other party; empty after the last round.
///
/// # Safety
/// A live handle.
pub(crate) unsafe fn masked_bits(evaluation: *mut Evaluation) -> Vec<u32> {
    let mut len = usize::MAX;
    // SAFETY: a live handle by the caller's promise, and an array of the given length.
    unsafe {
        assert_eq!(trefoil_pfss_evaluation_pending(evaluation, &mut len), OK);
        let mut bits = vec![0; len];
        if len > 0 {
            assert_eq!(trefoil_pfss_evaluation_masked_bits(evaluation, bits.as_mut_ptr(), len), OK);
        }
        bits
    }
}

/// A batch's message for the other party; empty after the last round.
///
/// # Safety
/// A live handle.
pub(crate) unsafe fn batch_message(batch: *mut BatchHandle) -> Vec<u8> {
    let mut len = usize::MAX;
    // SAFETY: a live handle by the caller's promise, and an array of the given length.
    unsafe {
        assert_eq!(trefoil_pfss_batch_pending(batch, &mut len), OK);
        let mut message = vec![0; len];
        if len > 0 {
            assert_eq!(trefoil_pfss_batch_masked(batch, message.as_mut_ptr(), len), OK);
        }
        message
    }
}
