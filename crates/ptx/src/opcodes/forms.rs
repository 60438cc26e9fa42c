//! The table of opcodes.
//!
//! It holds the opcodes that LLVM emits for kernels of this project at sm_80, the kernels' inline
//! assembly, and near neighbours.

use super::{
    Form, Group,
    role::{
        Role::{
            AddressOf, Barrier, Byte, CopySource, From, FromBits, FromParts, FromPred, FromPredOrSpecial,
            FromRegisters, FromVector, FromWider, FromWiderOrSpecial, Label, Loaded, Number, OneOf, Place, Pointer,
            Read, SomeThreads, Stored, Targets, Threads, To, ToAndPred, ToAndPredOrSink, ToOrSink, ToParts, ToPred,
            ToPredOrSink, ToPreds, ToVector, ToWider, Update, Write,
        },
        Signature,
        Ty::{Before, Last, Of, Wide},
    },
};
use crate::ast::{
    Space::{Const, Global, Local, Param, Shared},
    Type::{B32, Bf16x2, F16x2, Tf32, U32},
};

const fn form(group: Group, pattern: &'static str, signatures: &'static [Signature]) -> Form {
    Form { group, pattern, signatures }
}

const UNARY: &[Signature] = &[&[To(Last), From(Last)]];
const BINARY: &[Signature] = &[&[To(Last), From(Last), From(Last)]];
const TERNARY: &[Signature] = &[&[To(Last), From(Last), From(Last), From(Last)]];
const COUNT: &[Signature] = &[&[To(Of(U32)), From(Last)]];
const SHIFT: &[Signature] = &[&[To(Last), From(Last), From(Of(U32))]];
const COMPARE: &[Signature] = &[&[ToPreds, From(Last), From(Last)]];
const COMPARE_AND: &[Signature] = &[&[ToPreds, From(Last), From(Last), FromPred]];
const CONVERT: &[Signature] = &[&[ToWider(Before), FromWider(Last)]];
const CONVERT_INTEGER: &[Signature] = &[&[ToWider(Before), FromWiderOrSpecial(Last)]];
const CONVERT_PAIR: &[Signature] = &[&[ToWider(Before), FromWider(Last), FromWider(Last)]];
const LOAD: &[Signature] = &[&[Loaded, Read]];
const STORE: &[Signature] = &[&[Write, Stored]];
const ATOMIC: &[Signature] = &[&[ToOrSink(Last), Update, From(Last)]];
const REDUCE: &[Signature] = &[&[Update, From(Last)]];
const NOTHING: &[Signature] = &[&[]];
const COPY_4: &[Signature] = &[
    &[Place(Shared), Place(Global), OneOf(&[4, 8, 16])],
    &[Place(Shared), Place(Global), OneOf(&[4, 8, 16]), CopySource],
];
const COPY_16: &[Signature] =
    &[&[Place(Shared), Place(Global), OneOf(&[16])], &[Place(Shared), Place(Global), OneOf(&[16]), CopySource]];
const SYNC: &[Signature] = &[&[Barrier], &[Barrier, Threads]];
const ARRIVE: &[Signature] = &[&[Barrier, SomeThreads]];
const REDUCE_COUNT: &[Signature] = &[&[To(Last), Barrier, FromPred], &[To(Last), Barrier, Threads, FromPred]];
const REDUCE_PRED: &[Signature] = &[&[ToPred, Barrier, FromPred], &[ToPred, Barrier, Threads, FromPred]];

/// Loads or stores of one or two words.
macro_rules! pairs {
    ($stem:literal) => {
        concat!($stem, "{.v2,}.{b8,u8,s8,b16,u16,s16,b32,u32,s32,b64,u64,s64,f32,f64}")
    };
}

/// Loads or stores of four words, 16 bytes at most.
macro_rules! quads {
    ($stem:literal) => {
        concat!($stem, ".v4.{b8,u8,s8,b16,u16,s16,b32,u32,s32,f32}")
    };
}

/// Atomics that combine a value with memory.
macro_rules! reductions {
    ($stem:literal) => {
        concat!(
            $stem,
            "{.cta,.gpu,.sys,}{.global,.shared,}.{add.u32,add.s32,add.u64,add.f32,add.noftz.f16x2,\
             inc.u32,dec.u32,min.u32,min.s32,min.u64,min.s64,max.u32,max.s32,max.u64,max.s64,\
             and.b32,and.b64,or.b32,or.b64,xor.b32,xor.b64}"
        )
    };
}

/// Every admitted form.
#[rustfmt::skip]
pub const FORMS: &[Form] = &[
    form(Group::Move, "mov.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}", &[&[ToParts(Last), FromParts(Last)]]),
    form(Group::Move, "mov.pred", &[&[ToPred, FromPredOrSpecial]]),
    form(Group::Move, "selp.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}",
        &[&[To(Last), From(Last), From(Last), FromPred]]),
    form(Group::Move, "cvta.to.{global,shared,local,const,param}.u64", UNARY),
    form(Group::Move, "cvta.global.u64", &[&[To(Last), AddressOf(Global)]]),
    form(Group::Move, "cvta.shared.u64", &[&[To(Last), AddressOf(Shared)]]),
    form(Group::Move, "cvta.local.u64", &[&[To(Last), AddressOf(Local)]]),
    form(Group::Move, "cvta.const.u64", &[&[To(Last), AddressOf(Const)]]),
    form(Group::Move, "cvta.param.u64", &[&[To(Last), AddressOf(Param)]]),
    form(Group::Move, "isspacep.{global,shared,local,const}", &[&[ToPred, Pointer]]),

    form(Group::Integer, "{add,sub}.{u16,s16,u32,s32,u64,s64}", BINARY),
    form(Group::Integer, "{add,sub}.sat.s32", BINARY),
    form(Group::Integer, "sad.{u32,s32}", TERNARY),
    form(Group::Integer, "{add.cc,addc,addc.cc,sub.cc,subc,subc.cc}.{u32,s32,u64,s64}", BINARY),
    form(Group::Integer, "mul.{lo,hi}.{u16,s16,u32,s32,u64,s64}", BINARY),
    form(Group::Integer, "mul.wide.{u16,s16,u32,s32}", &[&[To(Wide), From(Last), From(Last)]]),
    form(Group::Integer, "mad.lo.{u16,s16,u32,s32,u64,s64}", TERNARY),
    form(Group::Integer, "mad.hi.{u32,s32,u64,s64}", TERNARY),
    form(Group::Integer, "mad.wide.{u16,s16,u32,s32}", &[&[To(Wide), From(Last), From(Last), From(Wide)]]),
    form(Group::Integer, "{div,rem}.{u16,s16,u32,s32,u64,s64}", BINARY),
    form(Group::Integer, "{neg,abs}.{s16,s32,s64}", UNARY),
    form(Group::Integer, "{min,max}.{u16,s16,u32,s32,u64,s64}", BINARY),

    form(Group::Bits, "{and,or,xor}.{b16,b32,b64}", BINARY),
    form(Group::Bits, "{and,or,xor}.pred", &[&[ToPred, FromPred, FromPred]]),
    form(Group::Bits, "not.{b16,b32,b64}", UNARY),
    form(Group::Bits, "not.pred", &[&[ToPred, FromPred]]),
    form(Group::Bits, "bfind.u32", COUNT),
    form(Group::Bits, "cnot.{b16,b32,b64}", UNARY),
    form(Group::Bits, "shl.{b16,b32,b64}", SHIFT),
    form(Group::Bits, "shr.{b16,b32,b64,u16,s16,u32,s32,u64,s64}", SHIFT),
    form(Group::Bits, "shf.{l,r}.{wrap,clamp}.b32", &[&[To(Last), From(Last), From(Last), From(Of(U32))]]),
    form(Group::Bits, "bfe.{u32,s32,u64,s64}", &[&[To(Last), From(Last), Byte, Byte]]),
    form(Group::Bits, "brev.{b32,b64}", UNARY),
    form(Group::Bits, "{popc,clz}.{b32,b64}", COUNT),
    form(Group::Bits, "bfi.b32", &[&[To(Last), From(Last), From(Last), Byte, Byte]]),
    form(Group::Bits, "prmt.b32{.f4e,.b4e,.rc8,.ecl,.ecr,.rc16,}", TERNARY),
    form(Group::Bits, "lop3.b32", &[&[ToOrSink(Last), From(Last), From(Last), From(Last), Number]]),

    form(Group::Float, "{add,sub,mul}{.rn,}{.ftz,}{.sat,}.f32", BINARY),
    form(Group::Float, "fma.rn{.ftz,}.f32", TERNARY),
    form(Group::Float, "div.rn{.ftz,}.f32", BINARY),
    form(Group::Float, "{sqrt,rcp}.rn{.ftz,}.f32", UNARY),
    form(Group::Float, "{min,max}{.ftz,}{.NaN,}.f32", BINARY),
    form(Group::Float, "{abs,neg}{.ftz,}.f32", UNARY),
    form(Group::Float, "{add,sub,mul}{.rn,}.f64", BINARY),
    form(Group::Float, "fma.rn.f64", TERNARY),
    form(Group::Float, "div.rn.f64", BINARY),
    form(Group::Float, "{sqrt,rcp}.rn.f64", UNARY),
    form(Group::Float, "{min,max}.f64", BINARY),
    form(Group::Float, "{abs,neg}.f64", UNARY),
    form(Group::Float, "testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}",
        &[&[ToPred, From(Last)]]),
    form(Group::Float, "copysign.{f32,f64}", BINARY),
    form(Group::Float, "{add,sub,mul}{.rn,}.f16", BINARY),
    form(Group::Float, "{add,sub,mul}.rn.f16x2", BINARY),
    form(Group::Float, "fma.rn.{f16,bf16}", TERNARY),
    form(Group::Float, "{neg,abs}.{f16,bf16}", UNARY),

    form(Group::Approx, "{ex2,lg2,sin,cos,rcp,rsqrt,sqrt}.approx{.ftz,}.f32", UNARY),
    form(Group::Approx, "tanh.approx.f32", UNARY),
    form(Group::Approx, "div.{approx,full}{.ftz,}.f32", BINARY),

    form(Group::Compare, "setp.{eq,ne}.{b16,b32,b64,u16,s16,u32,s32,u64,s64}", COMPARE),
    form(Group::Compare, "setp.{eq,ne}.{and,or,xor}.{b16,b32,b64,u16,s16,u32,s32,u64,s64}", COMPARE_AND),
    form(Group::Compare, "setp.{lt,le,gt,ge}.{u16,s16,u32,s32,u64,s64}", COMPARE),
    form(Group::Compare, "setp.{lt,le,gt,ge}.{and,or,xor}.{u16,s16,u32,s32,u64,s64}", COMPARE_AND),
    form(Group::Compare, "setp.{lo,ls,hi,hs}.{u16,u32,u64}", COMPARE),
    form(Group::Compare, "setp.{lo,ls,hi,hs}.{and,or,xor}.{u16,u32,u64}", COMPARE_AND),
    form(Group::Compare, "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{.ftz,}.f32", COMPARE),
    form(Group::Compare, "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{and,or,xor}{.ftz,}.f32",
        COMPARE_AND),
    form(Group::Compare, "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.f64", COMPARE),
    form(Group::Compare, "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{and,or,xor}.f64", COMPARE_AND),
    form(Group::Compare, "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.f16",
        &[&[ToPredOrSink, From(Last), From(Last)]]),
    form(Group::Compare, "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{and,or,xor}.f16",
        &[&[ToPredOrSink, From(Last), From(Last), FromPred]]),

    form(Group::Convert, "cvt.{u8,s8,u16,s16,u32,s32,u64,s64}.{u8,s8,u16,s16,u32,s32,u64,s64}", CONVERT_INTEGER),
    // Saturation is for types that do not hold every value of the source.
    form(Group::Convert, "cvt.sat.u8.{s8,u16,s16,u32,s32,u64,s64}", CONVERT_INTEGER),
    form(Group::Convert, "cvt.sat.s8.{u8,u16,s16,u32,s32,u64,s64}", CONVERT_INTEGER),
    form(Group::Convert, "cvt.sat.u16.{s8,s16,u32,s32,u64,s64}", CONVERT_INTEGER),
    form(Group::Convert, "cvt.sat.s16.{u16,u32,s32,u64,s64}", CONVERT_INTEGER),
    form(Group::Convert, "cvt.sat.u32.{s8,s16,s32,u64,s64}", CONVERT_INTEGER),
    form(Group::Convert, "cvt.sat.s32.{u32,u64,s64}", CONVERT_INTEGER),
    form(Group::Convert, "cvt.sat.u64.{s8,s16,s32,s64}", CONVERT_INTEGER),
    form(Group::Convert, "cvt.sat.s64.u64", CONVERT_INTEGER),
    form(Group::Convert, "cvt.rn.{f16,f32,f64}.{u8,s8,u16,s16,u32,s32,u64,s64}", CONVERT),
    form(Group::Convert, "cvt.{rni,rzi,rmi,rpi}{.ftz,}.{u8,s8,u16,s16,u32,s32,u64,s64}.f32", CONVERT),
    form(Group::Convert, "cvt.{rni,rzi,rmi,rpi}.{u8,s8,u16,s16,u32,s32,u64,s64}.{f16,f64}", CONVERT),
    form(Group::Convert, "cvt.{rni,rzi,rmi,rpi}{.ftz,}.f32.f32", CONVERT),
    form(Group::Convert, "cvt.{rni,rzi,rmi,rpi}.{f16.f16,f64.f64}", CONVERT),
    form(Group::Convert, "cvt{.ftz,}.f64.f32", CONVERT),
    form(Group::Convert, "cvt.rn{.ftz,}.f32.f64", CONVERT),
    form(Group::Convert, "cvt{.ftz,}{.sat,}.f32.f32", CONVERT),
    form(Group::Convert, "cvt.{rn,rz}.f16.f32", CONVERT),
    form(Group::Convert, "cvt.{f32,f64}.f16", CONVERT),
    form(Group::Convert, "cvt.{rn,rz}{.relu,}.bf16.f32", &[&[To(Before), From(Last)]]),
    form(Group::Convert, "cvt.f32.bf16", &[&[To(Before), From(Last)]]),
    form(Group::Convert, "cvt.{rn,rz}{.relu,}.f16x2.f32", CONVERT_PAIR),
    form(Group::Convert, "cvt.{rn,rz}{.relu,}.bf16x2.f32", &[&[To(Before), From(Last), From(Last)]]),
    form(Group::Convert, "cvt.rna.tf32.f32", &[&[To(Before), FromBits(Last)]]),

    form(Group::Memory, pairs!("ld{.weak,}{.param,.local,.const}"), LOAD),
    form(Group::Memory, quads!("ld{.weak,}{.param,.local,.const}"), LOAD),
    form(Group::Memory, pairs!(
        "ld{.weak,.volatile,.relaxed.cta,.relaxed.gpu,.relaxed.sys,.acquire.cta,.acquire.gpu,.acquire.sys,}\
         {.global,.shared,}"
    ), LOAD),
    form(Group::Memory, quads!(
        "ld{.weak,.volatile,.relaxed.cta,.relaxed.gpu,.relaxed.sys,.acquire.cta,.acquire.gpu,.acquire.sys,}\
         {.global,.shared,}"
    ), LOAD),
    form(Group::Memory, pairs!("ld.global{.ca,.cg,.cs,}{.nc,}{.L2::64B,.L2::128B,.L2::256B,}"), LOAD),
    form(Group::Memory, quads!("ld.global{.ca,.cg,.cs,}{.nc,}{.L2::64B,.L2::128B,.L2::256B,}"), LOAD),
    form(Group::Memory, pairs!("ld.global{.lu,.cv}"), LOAD),
    form(Group::Memory, quads!("ld.global{.lu,.cv}"), LOAD),
    form(Group::Memory, pairs!(
        "ld.global{.nc,}{.L1::evict_normal,.L1::evict_first,.L1::evict_last,.L1::no_allocate}\
         {.L2::64B,.L2::128B,.L2::256B,}"
    ), LOAD),
    form(Group::Memory, quads!(
        "ld.global{.nc,}{.L1::evict_normal,.L1::evict_first,.L1::evict_last,.L1::no_allocate}\
         {.L2::64B,.L2::128B,.L2::256B,}"
    ), LOAD),
    form(Group::Memory, pairs!("st{.weak,}{.param,.local}"), STORE),
    form(Group::Memory, quads!("st{.weak,}{.param,.local}"), STORE),
    form(Group::Memory, pairs!(
        "st{.weak,.volatile,.relaxed.cta,.relaxed.gpu,.relaxed.sys,.release.cta,.release.gpu,.release.sys,}\
         {.global,.shared,}"
    ), STORE),
    form(Group::Memory, quads!(
        "st{.weak,.volatile,.relaxed.cta,.relaxed.gpu,.relaxed.sys,.release.cta,.release.gpu,.release.sys,}\
         {.global,.shared,}"
    ), STORE),
    form(Group::Memory, pairs!(
        "st.global\
         {.wb,.cg,.cs,.wt,.L1::evict_normal,.L1::evict_first,.L1::evict_last,.L1::no_allocate}"
    ), STORE),
    form(Group::Memory, quads!(
        "st.global\
         {.wb,.cg,.cs,.wt,.L1::evict_normal,.L1::evict_first,.L1::evict_last,.L1::no_allocate}"
    ), STORE),

    form(Group::Atomic, reductions!("atom{.relaxed,.acquire,.release,.acq_rel,}"), ATOMIC),
    form(Group::Atomic, reductions!("red{.relaxed,.release,}"), REDUCE),
    form(Group::Atomic,
        "atom{.relaxed,.acquire,.release,.acq_rel,}{.cta,.gpu,.sys,}{.global,.shared,}.exch.{b32,b64}", ATOMIC),
    form(Group::Atomic,
        "atom{.relaxed,.acquire,.release,.acq_rel,}{.cta,.gpu,.sys,}{.global,.shared,}.cas.{b32,b64}",
        &[&[ToOrSink(Last), Update, From(Last), From(Last)]]),
    form(Group::Atomic, "fence{.sc,.acq_rel,}.{cta,gpu,sys}", NOTHING),
    form(Group::Atomic, "membar.{cta,gl,sys}", NOTHING),

    form(Group::Control, "bra{.uni,}", &[&[Label]]),
    form(Group::Control, "brx.idx{.uni,}", &[&[From(Of(U32)), Targets]]),
    // The operands of a call are held against the function that it calls.
    form(Group::Control, "call{.uni,}", &[]),
    form(Group::Control, "ret{.uni,}", NOTHING),
    form(Group::Control, "{exit,trap}", NOTHING),

    form(Group::Sync, "bar{.cta,}.sync", SYNC),
    form(Group::Sync, "bar{.cta,}.arrive", ARRIVE),
    form(Group::Sync, "barrier{.cta,}.sync{.aligned,}", SYNC),
    form(Group::Sync, "barrier{.cta,}.arrive{.aligned,}", ARRIVE),
    form(Group::Sync, "bar{.cta,}.red.popc.u32", REDUCE_COUNT),
    form(Group::Sync, "bar{.cta,}.red.{and,or}.pred", REDUCE_PRED),
    form(Group::Sync, "barrier{.cta,}.red.popc{.aligned,}.u32", REDUCE_COUNT),
    form(Group::Sync, "barrier{.cta,}.red.{and,or}{.aligned,}.pred", REDUCE_PRED),
    form(Group::Sync, "bar.warp.sync", &[&[From(Of(U32))]]),
    form(Group::Sync, "shfl.sync.{bfly,up,down,idx}.b32",
        &[&[ToAndPred(Last), From(Last), From(Last), From(Last), From(Of(U32))]]),
    form(Group::Sync, "vote.sync.ballot.b32", &[&[To(Last), FromPred, From(Of(U32))]]),
    form(Group::Sync, "vote.sync.{any,all,uni}.pred", &[&[ToPred, FromPred, From(Of(U32))]]),
    form(Group::Sync, "match.any.sync.{b32,b64}", &[&[To(Of(U32)), From(Last), From(Of(U32))]]),
    form(Group::Sync, "match.all.sync.{b32,b64}", &[&[ToAndPredOrSink(Of(U32)), From(Last), From(Of(U32))]]),
    form(Group::Sync, "redux.sync.{add.u32,add.s32,min.u32,min.s32,max.u32,max.s32,and.b32,or.b32,xor.b32}",
        &[&[To(Of(U32)), From(Of(U32)), From(Of(U32))]]),
    form(Group::Sync, "activemask.b32", &[&[To(Last)]]),

    form(Group::Tensor, "ldmatrix.sync.aligned.m8n8.x1{.trans,}.shared.b16", &[&[ToVector(1, Of(B32)), Place(Shared)]]),
    form(Group::Tensor, "ldmatrix.sync.aligned.m8n8.x2{.trans,}.shared.b16", &[&[ToVector(2, Of(B32)), Place(Shared)]]),
    form(Group::Tensor, "ldmatrix.sync.aligned.m8n8.x4{.trans,}.shared.b16", &[&[ToVector(4, Of(B32)), Place(Shared)]]),
    form(Group::Tensor, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        &[&[ToVector(4, Last), FromRegisters(4, Of(Bf16x2)), FromRegisters(2, Of(Bf16x2)), FromVector(4, Last)]]),
    form(Group::Tensor, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        &[&[ToVector(4, Last), FromRegisters(4, Of(F16x2)), FromRegisters(2, Of(F16x2)), FromVector(4, Last)]]),
    form(Group::Tensor, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        &[&[ToVector(4, Last), FromRegisters(4, Of(Tf32)), FromRegisters(2, Of(Tf32)), FromVector(4, Last)]]),
    form(Group::Tensor, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32",
        &[&[ToVector(4, Last), FromRegisters(2, Of(Bf16x2)), FromRegisters(1, Of(Bf16x2)), FromVector(4, Last)]]),
    form(Group::Tensor, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
        &[&[ToVector(4, Last), FromRegisters(2, Of(F16x2)), FromRegisters(1, Of(F16x2)), FromVector(4, Last)]]),
    form(Group::Tensor, "mma.sync.aligned.m16n8k32.row.col{.satfinite,}.s32.s8.s8.s32",
        &[&[ToVector(4, Last), FromRegisters(4, Of(U32)), FromRegisters(2, Of(U32)), FromVector(4, Last)]]),
    form(Group::Tensor, "cp.async.ca.shared.global{.L2::64B,.L2::128B,.L2::256B,}", COPY_4),
    form(Group::Tensor, "cp.async.cg.shared.global{.L2::64B,.L2::128B,.L2::256B,}", COPY_16),
    form(Group::Tensor, "cp.async.{commit_group,wait_all}", NOTHING),
    form(Group::Tensor, "cp.async.wait_group", &[&[Number]]),
];
