//! Branches, calls, returns, and the choice of the decoder for each opcode.

use ptx::ast::{Instruction, Operand, Symbol};

use super::super::code::{Approx, Bin, FBin, FUn, HalfOp, LocalMove, PredOp, StepOp, Tri, Un};
use super::super::register::R;
use super::body::{Body, operand, type_of};
use super::build::{Decoded, push, refuse};
use super::float::is_float;
use super::integer::shape;
use super::layout::{SymbolLocation, call_frame};

impl Body<'_> {
    /// Decodes one instruction; its guard has been set.
    pub(super) fn instruction(&mut self, ins: &Instruction) -> Decoded<()> {
        let float = type_of(ins).is_ok_and(is_float);
        match ins.opcode.base() {
            "mov" => self.mov(ins),
            "cvta" => self.cvta(ins),
            "cvt" => self.cvt(ins),
            "isspacep" => self.isspacep(ins),
            "selp" => self.selp(ins),
            "setp" => self.setp(ins),
            "add" if float => self.float_binary(ins, FBin::Add, Some(HalfOp::Add)),
            "sub" if float => self.float_binary(ins, FBin::Sub, Some(HalfOp::Sub)),
            "mul" if float => self.float_binary(ins, FBin::Mul, Some(HalfOp::Mul)),
            "div" if float => self.float_binary(ins, FBin::Div, None),
            "min" if float => self.float_binary(ins, FBin::Min, None),
            "max" if float => self.float_binary(ins, FBin::Max, None),
            "copysign" => self.float_binary(ins, FBin::CopySign, None),
            "fma" => self.fma(ins),
            "neg" if float => self.float_unary(ins, Some(FUn::Neg), None),
            "abs" if float => self.float_unary(ins, Some(FUn::Abs), None),
            "sqrt" => self.float_unary(ins, Some(FUn::Sqrt), Some(Approx::Sqrt)),
            "rcp" => self.float_unary(ins, Some(FUn::Rcp), Some(Approx::Rcp)),
            "rsqrt" => self.float_unary(ins, None, Some(Approx::Rsqrt)),
            "ex2" => self.float_unary(ins, None, Some(Approx::Ex2)),
            "lg2" => self.float_unary(ins, None, Some(Approx::Lg2)),
            "sin" => self.float_unary(ins, None, Some(Approx::Sin)),
            "cos" => self.float_unary(ins, None, Some(Approx::Cos)),
            "tanh" => self.float_unary(ins, None, Some(Approx::Tanh)),
            "testp" => self.testp(ins),
            "add" | "sub" | "addc" | "subc" => self.add_sub(ins),
            "mul" => self.mul(ins),
            "mad" => self.mad(ins),
            "div" => self.by_sign(ins, Bin::DivU, Bin::DivS),
            "rem" => self.by_sign(ins, Bin::RemU, Bin::RemS),
            "min" => self.by_sign(ins, Bin::MinU, Bin::MinS),
            "max" => self.by_sign(ins, Bin::MaxU, Bin::MaxS),
            "and" => self.logic(ins, Bin::And, PredOp::And),
            "or" => self.logic(ins, Bin::Or, PredOp::Or),
            "xor" => self.logic(ins, Bin::Xor, PredOp::Xor),
            "not" => self.unary(ins, Un::Not),
            "cnot" => self.unary(ins, Un::LogicalNot),
            "neg" => self.unary(ins, Un::Neg),
            "abs" => self.unary(ins, Un::AbsS),
            "brev" => self.unary(ins, Un::Brev),
            "popc" => self.count(ins, Un::Popc),
            "clz" => self.count(ins, Un::Clz),
            "bfind" => self.count(ins, Un::BfindU),
            "shl" | "shr" => self.shift(ins),
            "shf" => self.funnel(ins),
            "bfe" => self.bfe(ins),
            "bfi" => self.bfi(ins),
            "prmt" => self.prmt(ins),
            "lop3" => self.lop3(ins),
            "sad" => self.ternary(ins, if shape(type_of(ins)?)?.1 { Tri::SadS } else { Tri::SadU }),
            "ld" => self.load(ins),
            "st" => self.store(ins),
            "atom" | "red" => self.atomic(ins),
            "fence" | "membar" => self.fence(ins),
            "cp" => self.async_copy(ins),
            "bra" => self.branch(ins),
            "brx" => self.branch_table(ins),
            "call" => self.call(ins),
            "ret" => self.step(if self.is_entry { StepOp::Exit } else { StepOp::Return(self.back) }),
            "exit" => self.step(StepOp::Exit),
            "trap" => self.step(StepOp::Trap),
            "bar" | "barrier" => self.barrier(ins),
            "shfl" => self.shuffle(ins),
            "vote" => self.vote(ins),
            "match" => self.match_sync(ins),
            "redux" => self.redux(ins),
            "activemask" => self.activemask(ins),
            "ldmatrix" => self.load_matrix(ins),
            "mma" => self.mma(ins),
            _ => refuse("unknown opcode"),
        }
    }

    /// Branch targets are instruction numbers until the body is complete.
    fn branch(&mut self, ins: &Instruction) -> Decoded<()> {
        let Operand::Label(label) = operand(ins, 0)? else { return refuse("expected a label") };
        self.step(StepOp::Bra(self.body.target(*label) as u32))
    }

    fn branch_table(&mut self, ins: &Instruction) -> Decoded<()> {
        let index = self.src32(operand(ins, 0)?)?;
        let Operand::Targets(list) = operand(ins, 1)? else { return refuse("expected branch targets") };
        let targets = self.body.targets[list.0 as usize].targets.iter();
        let table = targets.map(|target| match target {
            Operand::Label(label) => Ok(self.body.target(*label) as u32),
            _ => refuse("expected labels"),
        });
        let table = table.collect::<Decoded<Vec<_>>>()?;
        let number = push(&mut self.build.code.tables, table);
        self.step(StepOp::BraTable(index, number))
    }

    fn call(&mut self, ins: &Instruction) -> Decoded<()> {
        let list = |index: usize| match ins.operands.get(index) {
            Some(Operand::List(items)) => Some(items.as_slice()),
            _ => None,
        };
        let callee_at = usize::from(list(0).is_some());
        let (results, arguments) = (list(0).unwrap_or_default(), list(callee_at + 1).unwrap_or_default());
        let callee = operand(ins, callee_at)?;
        let direct = match callee {
            Operand::Symbol { symbol: Symbol::Module(name), .. } => self.layout.function(name),
            _ => None,
        };
        let (params, returns) = match direct {
            Some(index) => {
                let function = &self.layout.module.functions[index];
                (&function.params, &function.returns)
            }
            None => match ins.operands.last() {
                Some(Operand::Prototype(prototype)) => {
                    let prototype = &self.body.prototypes[prototype.0 as usize];
                    (&prototype.params, &prototype.returns)
                }
                _ => return refuse("expected a function or a prototype"),
            },
        };
        let frame = call_frame(params, returns, self.callee_base);
        for ((argument, param), to) in arguments.iter().zip(params).zip(frame.params) {
            let from = self.call_variable(argument)?;
            self.move_local(LocalMove { to, from, bytes: param.bytes() });
        }
        match direct {
            Some(index) => {
                self.calls.insert(index);
                // The linker fills in the rest.
                self.emit(StepOp::Call { target: index as u32, back: R::MAX });
            }
            None => {
                let handle = self.src64(callee)?;
                self.indirect = true;
                self.emit(StepOp::CallTable { handle, table: u32::MAX });
            }
        }
        for ((result, param), from) in results.iter().zip(returns).zip(frame.returns) {
            let to = self.call_variable(result)?;
            self.move_local(LocalMove { to, from, bytes: param.bytes() });
        }
        Ok(())
    }

    /// Where a `.param` variable named in a call lies.
    fn call_variable(&self, item: &Operand) -> Decoded<u64> {
        match item {
            Operand::Symbol { symbol, offset: 0 } => match self.place(symbol)? {
                SymbolLocation::Local(at) => Ok(at),
                _ => refuse("call arguments are variables in .param space"),
            },
            _ => refuse("call arguments are variables in .param space"),
        }
    }

    fn move_local(&mut self, bytes: LocalMove) {
        let index = push(&mut self.build.code.moves, bytes);
        self.emit(StepOp::MoveLocal(index));
    }
}
