//! Loads, stores, atomics, asynchronous copies, fences.

use ptx::ast::{Instruction, Operand, Type};

use super::super::code::{AsyncCopy, Atomic, AtomicOp, MemoryOrder, StepOp, VectorAccess, Window};
use super::super::collective::Reduction;
use super::super::fault::Space;
use super::super::register::{AddressOperand, R, Slot};
use super::body::{Body, operand, type_of};
use super::build::{Decoded, Refusal, low_register, push, refuse};
use super::float::half_kind;
use super::integer::window;
use super::layout::SymbolLocation;

/// The memory order of an opcode.
fn order(ins: &Instruction) -> MemoryOrder {
    let mut order = MemoryOrder::default();
    for part in ins.opcode.modifiers() {
        match part {
            "relaxed" | "mmio" => order.strong = true,
            "volatile" => (order.strong, order.volatile) = (true, true),
            "acquire" => (order.strong, order.acquire) = (true, true),
            "release" => (order.strong, order.release) = (true, true),
            "acq_rel" | "sc" => (order.strong, order.acquire, order.release) = (true, true, true),
            "cta" => order.narrow = true,
            "nc" => order.constant = true,
            _ => {}
        }
    }
    order
}

impl Body<'_> {
    /// The target of an access and its window.
    ///
    /// Call parameters are local memory, kernel parameters are not.
    fn access_target(&mut self, ins: &Instruction, index: usize) -> Decoded<(AddressOperand, Window)> {
        let (target, place) = self.target(operand(ins, index)?)?;
        let named = match (window(ins)?, place) {
            (_, Some(SymbolLocation::Local(_))) => Window::Fixed(Space::Local),
            (Window::Fixed(Space::Param), None) if !self.is_entry => Window::Fixed(Space::Local),
            (Window::Generic, Some(SymbolLocation::Shared(_))) => Window::Fixed(Space::Shared),
            (Window::Generic, Some(SymbolLocation::Param(_))) => Window::Fixed(Space::Param),
            (window, _) => window,
        };
        Ok((target, named))
    }

    pub(super) fn load(&mut self, ins: &Instruction) -> Decoded<()> {
        let ty = type_of(ins)?;
        let signed = matches!(ty, Type::S8 | Type::S16 | Type::S32);
        let width = ty.bytes() as u8;
        let (target, window) = self.access_target(ins, 1)?;
        let elements = Self::elements(operand(ins, 0)?);
        let mut regs = [Slot::None; 4];
        for (reg, element) in regs.iter_mut().zip(elements) {
            *reg = self.slot(element)?;
        }
        let count = elements.len() as u8;
        self.access(VectorAccess { window, target, width, count, signed, regs, order: order(ins) }, StepOp::Load);
        Ok(())
    }

    pub(super) fn store(&mut self, ins: &Instruction) -> Decoded<()> {
        let width = type_of(ins)?.bytes() as u8;
        let (target, window) = self.access_target(ins, 0)?;
        let elements = Self::elements(operand(ins, 1)?);
        let mut regs = [Slot::None; 4];
        for (reg, element) in regs.iter_mut().zip(elements) {
            *reg = self.stored(element, width)?;
        }
        let count = elements.len() as u8;
        let code = &mut self.build.code;
        if matches!(window, Window::Generic | Window::Fixed(Space::Shared)) {
            code.shared_granule = code.shared_granule.min(width.into());
        }
        if matches!(window, Window::Generic | Window::Fixed(Space::Global)) {
            code.global_granule = code.global_granule.min(width.into());
        }
        self.access(
            VectorAccess { window, target, width, count, signed: false, regs, order: order(ins) },
            StepOp::Store,
        );
        Ok(())
    }

    fn access(&mut self, access: VectorAccess, op: fn(u32) -> StepOp) {
        self.build.code.volatile |= access.order.volatile;
        let index = push(&mut self.build.code.accesses, access);
        self.emit(op(index));
    }

    /// A value to be stored: the low bytes of a register of any width, or a constant.
    fn stored(&mut self, element: &Operand, width: u8) -> Decoded<Slot> {
        match element {
            Operand::Reg(_) => self.slot(element),
            _ if width == 8 => Ok(Slot::W64(self.src64(element)?)),
            _ => Ok(Slot::W32(self.src32(element)?)),
        }
    }

    pub(super) fn atomic(&mut self, ins: &Instruction) -> Decoded<()> {
        let returns = ins.opcode.base() == "atom";
        let ty = type_of(ins)?;
        let first = usize::from(returns);
        let name = ins.opcode.modifiers().find(|part| {
            matches!(*part, "add" | "min" | "max" | "and" | "or" | "xor" | "exch" | "cas" | "inc" | "dec")
        });
        let signed = matches!(ty, Type::S32 | Type::S64);
        let op = match (name.unwrap_or_default(), ty) {
            ("add", Type::F32) => AtomicOp::AddF32,
            ("add", _) => half_kind(ty).map_or(AtomicOp::Reduce(Reduction::Add), AtomicOp::AddHalf),
            ("exch", _) => AtomicOp::Exch,
            ("cas", _) => AtomicOp::Cas,
            ("inc", Type::U32) => AtomicOp::Inc,
            ("dec", Type::U32) => AtomicOp::Dec,
            (name, _) => match Reduction::named(name, signed) {
                Some(op) => AtomicOp::Reduce(op),
                None => return refuse("unknown atomic operation"),
            },
        };
        let width = ty.bytes() as u8;
        let (target, window) = self.access_target(ins, first)?;
        if !matches!(window, Window::Generic | Window::Fixed(Space::Global | Space::Shared)) {
            return refuse("expected global, shared or generic memory");
        }
        let b = self.stored(operand(ins, first + 1)?, width)?;
        let c = if op == AtomicOp::Cas { self.stored(operand(ins, first + 2)?, width)? } else { Slot::None };
        let old = if returns { self.slot(operand(ins, 0)?)? } else { Slot::None };
        let order = MemoryOrder { strong: true, ..order(ins) };
        let index = push(&mut self.build.code.atomics, Atomic { window, target, op, width, old, b, c, order });
        self.step(StepOp::Atomic(index))
    }

    pub(super) fn fence(&mut self, ins: &Instruction) -> Decoded<()> {
        let sequential = ins.opcode.base() == "membar" || ins.opcode.has("sc");
        self.step(StepOp::Fence { wide: !ins.opcode.has("cta"), sequential })
    }

    /// `cp.async` and its groups.
    pub(super) fn async_copy(&mut self, ins: &Instruction) -> Decoded<()> {
        let parts: Vec<&str> = ins.opcode.modifiers().collect();
        match parts[..] {
            ["async", "commit_group"] => self.emit(StepOp::CommitGroup),
            ["async", "wait_all"] => self.emit(StepOp::WaitAll),
            ["async", "wait_group"] => {
                let Operand::Int(left) = operand(ins, 0)? else { return refuse("expected a constant") };
                // Of unsigned numbers too large ones wait for nothing, as in what ptxas 13.5 makes of -1.
                self.emit(StepOp::WaitGroup(u32::try_from(*left).unwrap_or(u32::MAX)));
            }
            ["async", "ca" | "cg", "shared" | "shared::cta", "global", ..] => {
                let (target, _) = self.target(operand(ins, 0)?)?;
                let (source, _) = self.target(operand(ins, 1)?)?;
                let Operand::Int(bytes) = operand(ins, 2)? else { return refuse("size") };
                let read = match ins.operands.get(3) {
                    Some(source) if self.is_predicate(source) => return refuse("ignore-src"),
                    Some(source) => Some(self.src32(source)?),
                    None => None,
                };
                let copy = AsyncCopy { target, source, bytes: *bytes as u8, read };
                let index = push(&mut self.build.code.copies, copy);
                self.emit(StepOp::CopyAsync(index));
            }
            _ => return refuse("this copy"),
        }
        Ok(())
    }

    /// Registers of the elements of a vector operand, all of the 32-bit file.
    pub(super) fn fragment<const N: usize>(&mut self, operand: &Operand) -> Decoded<[R; N]> {
        let mut regs = [R::default(); N];
        for (reg, element) in regs.iter_mut().zip(Self::elements(operand)) {
            *reg = match element {
                Operand::Reg(_) => low_register(self.slot(element)?).ok_or(Refusal("expected 32 bits".to_owned()))?,
                other => self.src32(other)?,
            };
        }
        Ok(regs)
    }

    /// The elements of a vector operand, or the one element.
    pub(super) fn elements(operand: &Operand) -> &[Operand] {
        match operand {
            Operand::Vector(elements) => elements,
            single => std::slice::from_ref(single),
        }
    }
}
