use pfss::{Dealer, Gate, suf::SufProgram};

use crate::{
    Backend, Bytes,
    memory::{array, check, free, handle, put_handle},
    status::{Failure, Status, guard},
};

/// A descriptor with its modes, for which keys can be dealt.
pub struct GateHandle {
    gate: Gate,
}

/// The trusted third party that makes keys for both parties.
pub struct DealerHandle {
    dealer: Dealer,
}

/// Reads a program from bytes: little-endian, every number in 8 bytes. First the modes of predicates (0 one shared key,
/// 1 a key for each threshold), of coefficients (0 hidden steps, 1 one payload key, 2 masked selection) and of output
/// bits (0 XOR shares, 1 additive shares), and the number of bits that hold every input. Then the descriptor: ring width,
/// degree, numbers of word ports, bit ports, predicates and pieces; the names of the ports, each with its length in
/// front; predicates by tag (1 `x < beta`: beta; 2 `x mod 2^f < gamma`: f, gamma; 3 top bit; 4 top bit of `x + c`: c);
/// pieces: start, for each word the number of coefficients and the coefficients, for each bit its formula with operands
/// behind operators (0 false, 1 true, 2 not, 3 xor, 4 and, 5 or, 6 + i predicate i).
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_gate_read(program: *const u8, len: usize, gate: *mut *mut GateHandle) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { array("program", program, len) }?;
        let program = SufProgram::from_bytes(bytes);
        let program = program.map_err(|error| Failure::new(Status::TREFOIL_PFSS_PROGRAM, error))?;
        // SAFETY: the caller's promise.
        unsafe { put_handle("gate", GateHandle { gate: Gate::suf(program) }, gate) }
    })
}

/// Frees a gate.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_gate_free(gate: *mut GateHandle) {
    // SAFETY: the caller's promise.
    unsafe { free(gate) };
}

/// A dealer with randomness of the operating system.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_dealer_open(dealer: *mut *mut DealerHandle) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { put_handle("dealer", DealerHandle { dealer: Dealer::from_os()? }, dealer) })
}

/// A dealer that anyone can repeat. For tests only: its keys protect nothing.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_dealer_insecure_from_seed(seed: u64, dealer: *mut *mut DealerHandle) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { put_handle("dealer", DealerHandle { dealer: Dealer::insecure_from_seed(seed) }, dealer) })
}

/// Frees a dealer and wipes its state.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_dealer_free(dealer: *mut DealerHandle) {
    // SAFETY: the caller's promise.
    unsafe { free(dealer) };
}

/// Deals keys for `count` elements: the bundle of party 0 and that of party 1, each for its own party only.
///
/// # Safety
/// As said [at the top](crate#safety).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_deal(
    dealer: *mut DealerHandle,
    backend: *mut Backend,
    gate: *mut GateHandle,
    count: usize,
    party_0: *mut *mut Bytes,
    party_1: *mut *mut Bytes,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (dealer, backend, gate) =
            unsafe { (handle("dealer", dealer)?, handle("backend", backend)?, handle("gate", gate)?) };
        // both places are looked at before either is written
        check("party_0", party_0, 1)?;
        check("party_1", party_1, 1)?;
        let [zero, one] = dealer.dealer.deal(&backend.queue, &gate.gate, count)?;
        // SAFETY: the caller's promise.
        unsafe {
            put_handle("party_0", Bytes::new(&zero), party_0)?;
            put_handle("party_1", Bytes::new(&one), party_1)
        }
    })
}
