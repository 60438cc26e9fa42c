//! The sites of a parsed file.
//!
//! A mutant is chosen at run time, so a site has to be an expression that runs: constants, types,
//! patterns and `const fn` are counted and left out. So are expressions that no result depends on:
//! the room of a vector, the length of a sleep, and fields named `reserved`. The arguments of
//! macros are tokens, not expressions, and are not looked at.

use std::ops::Range;

use proc_macro2::Span;
use syn::{
    Attribute, BinOp, Block, Expr, ExprBinary, ExprCall, ExprIf, ExprLit, ExprMethodCall, ExprRepeat, ExprUnary,
    FieldValue, ImplItem, Item, Lit, Member, Meta, Pat, ReturnType, Signature, Stmt, TraitItem, Type, UnOp,
    spanned::Spanned as _,
    visit::{self, Visit},
};

use super::site::{Change, Site};

/// Predicates of `cfg` that hold in the build of the tests.
const HOLD: [&str; 5] =
    ["feature = \"cuda\"", "feature = \"serde\"", "target_arch = \"x86_64\"", "target_os = \"linux\"", "unix"];

/// The sites of a file, in the order of its text, and the number of excluded sites.
///
/// Excluded sites cannot carry a choice at run time, or have no effect on results.
pub(super) fn sites(file: &syn::File) -> (Vec<Site>, usize) {
    let mut finder = Finder::default();
    finder.visit_file(file);
    (finder.sites, finder.left_out)
}

/// Whether an item with these attributes is compiled into the libraries that tests link.
pub(super) fn is_compiled(attributes: &[Attribute]) -> bool {
    attributes.iter().all(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => HOLD.contains(&list.tokens.to_string().as_str()),
        Meta::Path(path) => !path.is_ident("test"),
        _ => true,
    })
}

#[derive(Default)]
struct Finder {
    sites: Vec<Site>,
    left_out: usize,
    /// How many contexts that are left out enclose the expression.
    excluded: usize,
    /// Names of the enclosing functions and of the types they are methods of.
    path: Vec<String>,
}

impl Finder {
    fn add(&mut self, whole: Range<usize>, at: Span, change: Change) {
        if self.excluded > 0 {
            self.left_out += 1;
            return;
        }
        let (line, function) = (at.start().line, self.path.join("::"));
        self.sites.push(Site { whole, change, line, function });
    }

    /// Visits an expression whose sites are counted and left out.
    fn exclude(&mut self, visit: impl FnOnce(&mut Self)) {
        self.excluded += 1;
        visit(self);
        self.excluded -= 1;
    }

    /// Visits the body of a function, and adds its result if it is a `bool`.
    fn function(&mut self, signature: &Signature, body: &Block) {
        self.path.push(signature.ident.to_string());
        let is_constant = usize::from(signature.constness.is_some());
        self.excluded += is_constant;
        if let (ReturnType::Type(_, ty), Some(Stmt::Expr(result, None))) = (&signature.output, body.stmts.last())
            && matches!(&**ty, Type::Path(path) if path.path.is_ident("bool"))
        {
            self.add(result.span().byte_range(), result.span(), Change::Negate);
        }
        self.visit_block(body);
        self.excluded -= is_constant;
        self.path.pop();
    }

    fn binary(&mut self, binary: &ExprBinary) {
        if let Some(new) = swapped(&binary.op)
            && !(is_logical(&binary.op) && has_let(binary))
        {
            let at = binary.op.span();
            let change = Change::Replace { at: at.byte_range(), new: new.to_owned() };
            self.add(binary.span().byte_range(), at, change);
        }
    }

    fn literal(&mut self, literal: &ExprLit) {
        let Lit::Int(int) = &literal.lit else { return };
        let Some(next) = int.base10_parse::<u128>().ok().and_then(|value| value.checked_add(1)) else { return };
        let at = literal.span();
        let change = Change::Replace { at: at.byte_range(), new: format!("{next}{}", int.suffix()) };
        self.add(at.byte_range(), at, change);
    }

    fn guard(&mut self, branch: &ExprIf) {
        let returns_error = matches!(branch.then_branch.stmts.as_slice(), [stmt] if is_error_return(stmt));
        let has_let = has_let_expression(&branch.cond);
        if returns_error && branch.else_branch.is_none() && !has_let {
            self.add(branch.cond.span().byte_range(), branch.cond.span(), Change::Pass);
        }
    }
}

/// The other operator; `None` for one that no mutant changes.
const fn swapped(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Lt(_) => "<=",
        BinOp::Le(_) => "<",
        BinOp::Gt(_) => ">=",
        BinOp::Ge(_) => ">",
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        BinOp::Add(_) => "-",
        BinOp::Sub(_) | BinOp::Mul(_) => "+",
        BinOp::Shl(_) => ">>",
        BinOp::Shr(_) => "<<",
        BinOp::BitAnd(_) => "|",
        BinOp::BitOr(_) => "&",
        BinOp::And(_) => "||",
        BinOp::Or(_) => "&&",
        BinOp::AddAssign(_) => "-=",
        BinOp::SubAssign(_) | BinOp::MulAssign(_) => "+=",
        BinOp::ShlAssign(_) => ">>=",
        BinOp::ShrAssign(_) => "<<=",
        BinOp::BitAndAssign(_) => "|=",
        BinOp::BitOrAssign(_) => "&=",
        _ => return None,
    })
}

const fn is_logical(op: &BinOp) -> bool {
    matches!(op, BinOp::And(_) | BinOp::Or(_))
}

/// Whether a chain of conditions binds names, which `||` and parentheses cannot.
fn has_let(binary: &ExprBinary) -> bool {
    has_let_expression(&binary.left) || has_let_expression(&binary.right)
}

fn has_let_expression(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(binary),
        _ => false,
    }
}

/// `return Err(..)`, with or without a semicolon.
fn is_error_return(stmt: &Stmt) -> bool {
    let Stmt::Expr(Expr::Return(result), _) = stmt else { return false };
    let Some(Expr::Call(call)) = result.expr.as_deref() else { return false };
    matches!(&*call.func, Expr::Path(path) if path.path.is_ident("Err"))
}

/// Whether a function changes no result, whatever its arguments are.
fn has_no_result(call: &ExprCall) -> bool {
    let Expr::Path(function) = &*call.func else { return false };
    let is = |name: &str| function.path.segments.last().is_some_and(|last| last.ident == name);
    is("with_capacity") || is("sleep")
}

/// Whether a statement reserves room in a collection.
///
/// A reservation in a budget has the same name, but a result: it is part of an expression.
fn reserves_room(stmt: &Stmt) -> Option<&ExprMethodCall> {
    let Stmt::Expr(Expr::MethodCall(call), Some(_)) = stmt else { return None };
    (call.method == "reserve" || call.method == "reserve_exact").then_some(call)
}

/// The name of the type of an `impl`.
fn type_name(ty: &Type) -> String {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default(),
        _ => "_".to_owned(),
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Const(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            Item::Trait(item) => &item.attrs,
            // Other items hold no expressions that run; an enum's are constants.
            Item::Enum(_) => return self.exclude(|finder| visit::visit_item(finder, item)),
            _ => return,
        };
        if !is_compiled(attributes) {
            return;
        }
        match item {
            Item::Const(_) | Item::Static(_) => self.exclude(|finder| visit::visit_item(finder, item)),
            Item::Fn(item) => self.function(&item.sig, &item.block),
            Item::Impl(item) => {
                self.path.push(type_name(&item.self_ty));
                item.items.iter().for_each(|item| self.visit_impl_item(item));
                self.path.pop();
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        match item {
            ImplItem::Fn(item) if is_compiled(&item.attrs) => self.function(&item.sig, &item.block),
            ImplItem::Const(_) => self.exclude(|finder| visit::visit_impl_item(finder, item)),
            _ => {}
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        match item {
            TraitItem::Fn(item) if is_compiled(&item.attrs) => {
                if let Some(body) = &item.default {
                    self.function(&item.sig, body);
                }
            }
            TraitItem::Const(_) => self.exclude(|finder| visit::visit_trait_item(finder, item)),
            _ => {}
        }
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        let attributes = match stmt {
            Stmt::Local(local) => local.attrs.as_slice(),
            Stmt::Expr(Expr::Block(block), _) => &block.attrs,
            _ => &[],
        };
        if !is_compiled(attributes) {
            return;
        }
        if let Stmt::Expr(Expr::Try(_), Some(_)) = stmt {
            self.add(stmt.span().byte_range(), stmt.span(), Change::Drop);
        }
        if let Some(call) = reserves_room(stmt) {
            self.visit_expr(&call.receiver);
            return self.exclude(|finder| call.args.iter().for_each(|argument| finder.visit_expr(argument)));
        }
        visit::visit_stmt(self, stmt);
    }

    fn visit_field_value(&mut self, field: &'ast FieldValue) {
        match &field.member {
            Member::Named(name) if name == "reserved" => self.exclude(|finder| visit::visit_field_value(finder, field)),
            _ => visit::visit_field_value(self, field),
        }
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Binary(binary) => self.binary(binary),
            Expr::Lit(literal) => self.literal(literal),
            Expr::If(branch) => self.guard(branch),
            // The smallest number of a type is a literal that alone is too large for it.
            Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) if matches!(**expr, Expr::Lit(_)) => return,
            Expr::Const(_) => return self.exclude(|finder| visit::visit_expr(finder, expression)),
            Expr::Call(call) if has_no_result(call) => {
                return self.exclude(|finder| visit::visit_expr(finder, expression));
            }
            Expr::Repeat(ExprRepeat { expr, len, .. }) => {
                self.visit_expr(expr);
                return self.exclude(|finder| finder.visit_expr(len));
            }
            _ => {}
        }
        visit::visit_expr(self, expression);
    }

    fn visit_type(&mut self, ty: &'ast Type) {
        self.exclude(|finder| visit::visit_type(finder, ty));
    }

    fn visit_angle_bracketed_generic_arguments(&mut self, arguments: &'ast syn::AngleBracketedGenericArguments) {
        self.exclude(|finder| visit::visit_angle_bracketed_generic_arguments(finder, arguments));
    }

    fn visit_pat(&mut self, pattern: &'ast Pat) {
        self.exclude(|finder| visit::visit_pat(finder, pattern));
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mutated lines of the sites in a text, and the number left out.
    fn mutants(text: &str) -> (Vec<String>, usize) {
        let (sites, left_out) = sites(&syn::parse_file(text).unwrap());
        let lines = sites.iter().map(|site| {
            let [_, mutated] = site.lines(text);
            format!("{} {}: {mutated}", site.function, site.line)
        });
        (lines.collect(), left_out)
    }

    #[test]
    fn operators_literals_guards_and_results_are_sites() {
        let text = "impl A {\n fn f(&self) -> bool {\n if x {\n return Err(E);\n }\n g(7)?;\n x += y;\n a << b\n }\n}";
        let expected = [
            "A::f 8: !(a << b)",
            "A::f 3: if false {",
            "A::f 6: ",
            "A::f 6: g(8)?;",
            "A::f 7: x -= y;",
            "A::f 8: a >> b",
        ];
        assert_eq!(mutants(text), (expected.map(str::to_owned).to_vec(), 0));
    }

    #[test]
    fn what_the_compiler_evaluates_is_counted_and_left_out() {
        let text = "const A: u32 = 1 + 2;\nconst fn f() -> u32 { 1 }\nfn g() { let [a, 3] = [x; 4]; let b: [u8; 5]; h::<6>() }";
        assert_eq!(mutants(text), (vec![], 7));
    }

    #[test]
    fn what_no_result_depends_on_is_counted_and_left_out() {
        let text = "fn f() { Vec::with_capacity(1 << n); thread::sleep(t / 64); P { reserved: [0; 2], ..p }; }";
        assert_eq!(mutants(text), (vec![], 5));
        let text = "fn f() { v[1].reserve(2 * n); v.reserve_exact(3); }";
        assert_eq!(mutants(text), (vec!["f 1: fn f() { v[2].reserve(2 * n); v.reserve_exact(3); }".to_owned()], 3));
        let budget = "fn f() { let _held = q.reserve(4 * n)?; P { room: 5 } }";
        assert_eq!(mutants(budget).0.len(), 3, "a reservation in a budget is a result");
    }

    #[test]
    fn tests_other_platforms_and_chains_that_bind_names_are_no_sites() {
        let text = "#[cfg(test)]\nmod tests { fn f() { 1 } }\n#[cfg(not(unix))]\nfn g() { 1 }\n\
                    fn h() { if let Some(a) = b && c { d } }\nfn i() { assert!(a < b); -1 }\n\
                    #[cfg(unix)]\nfn j() { a & b }";
        assert_eq!(mutants(text), (vec!["j 8: fn j() { a | b }".to_owned()], 0));
    }
}
