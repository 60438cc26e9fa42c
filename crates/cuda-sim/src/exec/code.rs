//! The decoded form of a kernel: register-to-register operations, one per step of a warp.
//!
//! A register is 32 lanes wide and lives in one of three files: 32-bit words (8- and 16-bit
//! registers too, zero extended), 64-bit words, and predicates (one bit per lane). Constants,
//! addresses of symbols and special registers are registers that are filled before the first
//! instruction.

use std::ops::Range;
use std::sync::OnceLock;

use ptx::ast::Special;

use super::collective::{CollectiveOp, Reduction};
use super::fault::Space;
use super::register::{AddressOperand, FileRegister, HalfKind, R, Slot};

/// Calls are followed to this depth; one deeper is a fault when it is made.
pub(super) const MAX_DEPTH: u32 = 24;

/// One step: an operation and the predicate it runs under.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeStep {
    /// Predicate register, or [`NO_GUARD`].
    pub(super) guard: R,
    /// Whether the step runs where the predicate is false.
    pub(super) negated: bool,
    pub(super) op: StepOp,
}

/// The guard of a step that always runs.
pub(super) const NO_GUARD: R = R::MAX;

/// Operations. `d` is the destination, `a`, `b`, `c` the sources, in the files the names say.
#[derive(Clone, Copy, Debug)]
pub(super) enum StepOp {
    Mov32(R, R),
    Mov64(R, R),
    /// `d = (hi << 32) | lo`.
    Pack64(R, R, R),
    /// `lo, hi = a`.
    Unpack64(R, R, R),
    /// `d = (hi << 16) | lo` of 16-bit halves.
    Pack32(R, R, R),
    Zext64(R, R),
    Sext64(R, R),
    Trunc32(R, R),
    /// Extends the low `bits` of a word.
    Ext32 {
        signed: bool,
        bits: u8,
        d: R,
        a: R,
    },
    Bin32(Bin, R, R, R),
    Bin64(Bin, R, R, R),
    Un32(Un, R, R),
    Un64(Un, R, R),
    /// `popc` or `clz` of a 64-bit word into a 32-bit one.
    Count64(Un, R, R),
    Tri32(Tri, R, R, R, R),
    /// `d = a * b + c`, low half.
    Mad64(R, R, R, R),
    /// 32 x 32 to 64 bits, signed or not.
    MulWide(bool, R, R, R),
    /// `bfe.{u64,s64}`: position and length in 32-bit registers.
    Bfe64(bool, R, R, R, R),
    /// Addition or subtraction with a carry register (a predicate): `wide` selects the file.
    Carry {
        wide: bool,
        subtract: bool,
        carry_in: bool,
        cc: R,
        d: R,
        a: R,
        b: R,
    },
    Lop3 {
        lut: u8,
        d: R,
        a: R,
        b: R,
        c: R,
    },
    F32(FBin, R, R, R),
    F64(FBin, R, R, R),
    Fma32(R, R, R, R),
    Fma64(R, R, R, R),
    FUn32(FUn, R, R),
    FUn64(FUn, R, R),
    Approx(Approx, R, R),
    DivApprox(R, R, R),
    /// 16-bit float arithmetic, on one value or on both halves of a word.
    Half {
        op: HalfOp,
        kind: HalfKind,
        d: R,
        a: R,
        b: R,
        c: R,
    },
    Cvt(Cvt, R, R),
    /// Two `f32` into the halves of a word: first operand high.
    ///
    /// A conversion to one 16-bit float has zero as the first.
    CvtPack {
        kind: HalfKind,
        toward_zero: bool,
        relu: bool,
        d: R,
        a: R,
        b: R,
    },
    Setp32(Cmp, R, R, R),
    Setp64(Cmp, R, R, R),
    SetpF32(Cmp, R, R, R),
    SetpF64(Cmp, R, R, R),
    SetpHalf(HalfKind, Cmp, R, R, R),
    Testp32(FloatClass, R, R),
    Testp64(FloatClass, R, R),
    Sel32(R, R, R, R),
    Sel64(R, R, R, R),
    /// Predicate arithmetic on lane masks.
    Pred(PredOp, R, R, R),
    /// `isspacep`: whether a generic address is in a space.
    IsSpace(Space, R, R),
    /// The clock, low or high word.
    Clock(bool, R),
    Clock64(R),
    ActiveMask(R),
    /// Index into [`Code::accesses`].
    Load(u32),
    Store(u32),
    /// Index into [`Code::atomics`].
    Atomic(u32),
    /// Index into [`Code::copies`].
    CopyAsync(u32),
    /// Ends the group of asynchronous copies begun since the last one.
    CommitGroup,
    /// Waits until at most this many groups are unfinished.
    WaitGroup(u32),
    /// Waits for every asynchronous copy, committed or not.
    WaitAll,
    /// A memory fence.
    ///
    /// The fields state whether other blocks see its order, and whether all such fences have one
    /// order.
    Fence {
        wide: bool,
        sequential: bool,
    },
    /// Moves call arguments or results within local memory: index into [`Code::moves`].
    MoveLocal(u32),
    Bra(u32),
    /// A branch past a barrier: index into [`Code::forks`].
    Fork {
        target: u32,
        fork: u32,
    },
    /// Branch by table: index register, index into [`Code::tables`].
    BraTable(R, u32),
    /// Jump and note the return address in a 32-bit register.
    Call {
        target: u32,
        back: R,
    },
    /// Call through a function handle: index into [`Code::calls`].
    CallTable {
        handle: R,
        table: u32,
    },
    Return(R),
    Exit,
    Trap,
    TooDeep,
    /// Parks the lanes until the collective can be done: index into [`Code::collectives`].
    Collective(u32),
}

/// Two-operand integer arithmetic; shift counts are 32-bit words in either width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bin {
    Add,
    AddSat,
    Sub,
    SubSat,
    MulLo,
    MulHiU,
    MulHiS,
    DivU,
    DivS,
    RemU,
    RemS,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
    Shl,
    ShrU,
    ShrS,
}

/// One-operand integer arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Un {
    Not,
    LogicalNot,
    Neg,
    AbsS,
    Brev,
    Popc,
    Clz,
    BfindU,
}

/// Three-operand 32-bit arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tri {
    Mad,
    MadHiU,
    MadHiS,
    SadU,
    SadS,
    BfeU,
    BfeS,
    /// `a` into `b`; position and length in the low and high half of `c`.
    Bfi,
    Prmt,
    PrmtF4e,
    PrmtB4e,
    PrmtRc8,
    PrmtEcl,
    PrmtEcr,
    PrmtRc16,
    ShfLWrap,
    ShfLClamp,
    ShfRWrap,
    ShfRClamp,
}

/// Two-operand IEEE arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FBin {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
    MinNan,
    MaxNan,
    CopySign,
}

/// One-operand IEEE arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FUn {
    Neg,
    Abs,
    Sqrt,
    Rcp,
    /// Subnormal to zero of the same sign.
    Flush,
    /// Clamp to 0..=1, NaN to 0.
    Saturate,
    Floor,
    Ceil,
    Nearest,
    Truncate,
}

/// Approximate `f32` functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approx {
    Ex2,
    Lg2,
    Sin,
    Cos,
    Rcp,
    Rsqrt,
    Sqrt,
    Tanh,
}

/// Arithmetic on 16-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HalfOp {
    Add,
    Sub,
    Mul,
    Fma,
    Neg,
    Abs,
}

/// Conversions between canonical types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cvt {
    U32F32,
    S32F32,
    U64F32,
    S64F32,
    U32F64,
    S32F64,
    U64F64,
    S64F64,
    /// Saturating at a narrower width than the register: bits and signedness.
    F32Int(u8, bool),
    F64Int(u8, bool),
    F32Int64(bool),
    F64Int64(bool),
    F32F64,
    F64F32,
    F16F32,
    Bf16F32,
    /// Integers (64-bit) to 16-bit floats, rounded once.
    S64F16,
    U64F16,
    /// To the 19 bits of tf32, ties away from zero.
    F32Tf32,
    /// Saturating integer narrowing of a signed or unsigned 64-bit value.
    ///
    /// The fields are the source sign, the bits, and the target sign.
    Narrow(bool, u8, bool),
}

/// Comparisons: integers by signedness, floats ordered or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Unsigned integers; "or unordered" for floats.
    LtU,
    LeU,
    GtU,
    GeU,
    EqU,
    NeU,
    Num,
    Nan,
}

/// Float classes of `testp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FloatClass {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// Arithmetic on predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PredOp {
    And,
    Or,
    Xor,
    /// First operand, second ignored.
    Move,
    /// Complement of the first operand.
    Not,
}

/// The address space of an access, before generic addresses are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    Generic,
    Fixed(Space),
}

/// How an access takes part in the order between threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MemoryOrder {
    /// Relaxed, volatile or stronger: races with no other such access within the scopes of both.
    pub(super) strong: bool,
    pub(super) volatile: bool,
    /// Only for threads of the same block.
    pub(super) narrow: bool,
    pub(super) acquire: bool,
    pub(super) release: bool,
    /// A load of memory that no thread of the launch writes.
    pub(super) constant: bool,
}

/// A load or store of up to four elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct VectorAccess {
    pub(super) window: Window,
    pub(super) target: AddressOperand,
    /// Bytes of one element: 1, 2, 4 or 8.
    pub(super) width: u8,
    pub(super) count: u8,
    /// Whether loads extend the sign.
    pub(super) signed: bool,
    pub(super) regs: [Slot; 4],
    pub(super) order: MemoryOrder,
}

/// The operation of a read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtomicOp {
    Reduce(Reduction),
    Exch,
    Cas,
    /// Wrapping increment and decrement by a bound.
    Inc,
    Dec,
    AddF32,
    AddHalf(HalfKind),
}

/// `atom` or `red`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Atomic {
    pub(super) window: Window,
    pub(super) target: AddressOperand,
    pub(super) op: AtomicOp,
    /// Bytes: 4 or 8.
    pub(super) width: u8,
    pub(super) old: Slot,
    pub(super) b: Slot,
    pub(super) c: Slot,
    pub(super) order: MemoryOrder,
}

/// `cp.async`: global to shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct AsyncCopy {
    pub(super) target: AddressOperand,
    pub(super) source: AddressOperand,
    /// Bytes written: 4, 8 or 16.
    pub(super) bytes: u8,
    /// Bytes read, the rest is zero; absent for all.
    pub(super) read: Option<R>,
}

/// A copy within the local memory of a thread, for arguments and results of calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalMove {
    pub(super) to: u64,
    pub(super) from: u64,
    pub(super) bytes: u64,
}

/// The value of a register before the first instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Preset {
    Const(u64),
    Special(Special),
    /// Address of a module variable plus bytes.
    Global(u32, i64),
}

/// A decoded kernel.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) steps: Vec<CodeStep>,
    /// For each step, the index of its instruction in [`Code::origins`].
    pub(super) origin: Vec<u32>,
    pub(super) origins: Vec<StepOrigin>,
    /// First step.
    pub(super) start: u32,
    pub(super) accesses: Vec<VectorAccess>,
    pub(super) atomics: Vec<Atomic>,
    pub(super) copies: Vec<AsyncCopy>,
    pub(super) moves: Vec<LocalMove>,
    /// Branch targets by index.
    pub(super) tables: Vec<Vec<u32>>,
    /// Callees of each indirect call: handle, first step, register for the way back.
    pub(super) calls: Vec<Vec<(u64, u32, R)>>,
    pub(super) collectives: Vec<CollectiveOp>,
    /// The barriers of [`Code::barriers`] that a thread passes, by each side of a fork.
    ///
    /// The first set is for a thread that takes the fork, the second for a thread that does not.
    pub(super) forks: Vec<[u64; 2]>,
    /// Steps with a barrier of the whole block, if some of them are in branches.
    pub(super) barriers: Vec<u32>,
    /// Sizes of the three register files.
    pub(super) words32: usize,
    pub(super) words64: usize,
    pub(super) predicates: usize,
    pub(super) presets32: Vec<(R, Preset)>,
    pub(super) presets64: Vec<(R, Preset)>,
    /// Predicate registers that are true throughout.
    pub(super) true_predicate: Option<R>,
    /// Shared memory the kernel declares, in bytes; dynamic shared memory follows.
    pub(super) static_shared: u64,
    /// The arrays in shared memory, which have `gaps` bytes between them in total.
    pub(super) arrays: Vec<Range<u64>>,
    pub(super) gaps: u64,
    /// Local memory per thread, in bytes.
    pub(super) local: u64,
    /// Bytes of the parameter buffer.
    pub(super) params: u64,
    /// Narrowest store to shared or generic, and to global or generic memory.
    ///
    /// It is the granule of the race checkers.
    pub(super) shared_granule: u64,
    pub(super) global_granule: u64,
    /// Whether some step asks which lanes are active.
    pub(super) active_mask: bool,
    /// Whether some access is volatile.
    pub(super) volatile: bool,
    /// Registers that a thread may read before writing them; computed on first use.
    pub(super) unassigned: OnceLock<Vec<FileRegister>>,
}

/// Where a step comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StepOrigin {
    /// Line of the PTX text.
    pub(super) line: u32,
    /// `.loc`: index into the module's files, and line.
    pub(super) source: Option<(u32, u32)>,
}
