//! The walk over syntax trees that finds the facts.

use std::collections::HashMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{
    Arm, Attribute, Expr, ExprLit, ExprMethodCall, ExprUnsafe, ImplItem, ImplItemFn, Item, ItemFn, ItemForeignMod,
    ItemImpl, ItemTrait, ItemUse, Lit, Macro, Meta, Path, Stmt, TraitItemFn, UseTree, Visibility, spanned::Spanned,
    token::Unsafe, visit, visit::Visit,
};

use super::facts::{Fact, UnsafeKind, What};

/// Everything in `ast` that a rule may ask about. `text` is the source, for comments.
pub(super) fn facts(ast: &syn::File, text: &str, test_only: bool) -> Vec<Fact> {
    let mut imports = Imports::default();
    imports.visit_file(ast);
    let mut visitor = Visitor {
        lines: text.lines().collect(),
        imports: imports.names,
        test_depth: usize::from(test_only),
        contract_above: states_safety(&ast.attrs),
        starts: Vec::new(),
        facts: Vec::new(),
    };
    visitor.visit_file(ast);
    visitor.facts
}

/// Whether an item with these attributes is compiled for tests only.
pub(crate) fn is_test_only(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| match &attr.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        Meta::NameValue(_) => false,
    })
}

/// Whether a doc comment among `attrs` has a section on safety.
fn states_safety(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| match &attr.meta {
        Meta::NameValue(pair) => matches!(&pair.value, Expr::Lit(ExprLit { lit: Lit::Str(text), .. })
            if pair.path.is_ident("doc") && text.value().contains("# Safety")),
        _ => false,
    })
}

/// Names that `use` declarations bring into a file, with their full paths.
#[derive(Default)]
struct Imports {
    names: HashMap<String, String>,
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        leaves(&item.tree, &mut Vec::new(), &mut |path, name, _| {
            self.names.insert(name, path);
        });
    }
}

/// Calls `leaf(full path, local name, line)` for each name in a use tree.
pub(super) fn leaves(tree: &UseTree, prefix: &mut Vec<String>, leaf: &mut impl FnMut(String, String, usize)) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            leaves(&path.tree, prefix, leaf);
            prefix.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, prefix, leaf)),
        UseTree::Glob(glob) => leaf(format!("{}::*", prefix.join("::")), "*".into(), glob.span().start().line),
        UseTree::Name(name) => {
            let (path, local) = full_name(prefix, &name.ident);
            leaf(path, local, name.span().start().line);
        }
        UseTree::Rename(rename) => {
            let (path, _) = full_name(prefix, &rename.ident);
            leaf(path, rename.rename.to_string(), rename.span().start().line);
        }
    }
}

/// Full path and local name of one imported name; `self` stands for the module itself.
fn full_name(prefix: &[String], ident: &syn::Ident) -> (String, String) {
    let name = ident.to_string();
    if name == "self" {
        return (prefix.join("::"), prefix.last().cloned().unwrap_or(name));
    }
    let path = prefix.iter().chain([&name]).cloned().collect::<Vec<_>>().join("::");
    (path, name)
}

struct Visitor<'text> {
    lines: Vec<&'text str>,
    imports: HashMap<String, String>,
    test_depth: usize,
    /// Whether an enclosing item states the requirements of its `unsafe fn`s.
    ///
    /// The item is the file, the trait, or the trait of the implementation.
    contract_above: bool,
    /// First lines of the enclosing items, statements and match arms, innermost last.
    starts: Vec<usize>,
    facts: Vec<Fact>,
}

impl Visitor<'_> {
    fn push(&mut self, line: usize, what: What) {
        self.facts.push(Fact { line, test: self.test_depth > 0, what });
    }

    fn push_path(&mut self, segments: &[String], line: usize) {
        let mut path = segments.join("::");
        // A name may stand for a path that starts with another imported name; four steps end any sane chain.
        for _ in 0..4 {
            let (first, rest) =
                path.split_once("::").map_or((path.as_str(), None), |(first, rest)| (first, Some(rest)));
            match self.imports.get(first) {
                Some(full) if full != first && !full.starts_with(&format!("{first}::")) => {
                    path = rest.map_or_else(|| full.clone(), |rest| format!("{full}::{rest}"));
                }
                _ => break,
            }
        }
        self.push(line, What::Path(path));
    }

    /// Adds an item or a block if it is `unsafe`.
    fn unsafety(&mut self, kind: UnsafeKind, token: Option<Unsafe>, attrs: &[Attribute]) {
        let Some(token) = token else { return };
        let line = token.span.start().line;
        let documented = match kind {
            UnsafeKind::Fn | UnsafeKind::Trait => self.fn_documented(attrs, line),
            UnsafeKind::Block | UnsafeKind::Impl | UnsafeKind::Extern => self.block_documented(line),
        };
        self.push(line, What::Unsafe { kind, documented });
    }

    /// Runs `visit` with `line` as the innermost start, in test code if `attrs` say so.
    fn within(&mut self, line: usize, attrs: &[Attribute], visit: impl FnOnce(&mut Self)) {
        let test = usize::from(is_test_only(attrs));
        self.starts.push(line);
        self.test_depth += test;
        visit(self);
        self.test_depth -= test;
        self.starts.pop();
    }

    /// Runs `visit` inside an item.
    ///
    /// If `states`, the item documents the requirements of its `unsafe fn`s.
    fn under_contract(&mut self, states: bool, visit: impl FnOnce(&mut Self)) {
        let outer = self.contract_above;
        self.contract_above |= states;
        visit(self);
        self.contract_above = outer;
    }

    /// Whether the comments and attributes right above `line` contain one of `marks`.
    fn comment_above(&self, line: usize, marks: &[&str]) -> bool {
        let above =
            self.lines[..line.saturating_sub(1).min(self.lines.len())].iter().rev().map(|line| line.trim_start());
        above
            .take_while(|line| line.starts_with("//") || line.starts_with("#["))
            .any(|line| line.starts_with("//") && marks.iter().any(|mark| line.contains(mark)))
    }

    fn block_documented(&self, line: usize) -> bool {
        let start = self.starts.last().copied().unwrap_or(line);
        [line, start].iter().any(|&line| self.comment_above(line, &["SAFETY:"]))
    }

    fn fn_documented(&self, attrs: &[Attribute], line: usize) -> bool {
        let first = attrs.first().map_or(line, |attr| attr.span().start().line);
        let stated = self.contract_above || states_safety(attrs);
        stated || [line, first].iter().any(|&line| self.comment_above(line, &["# Safety", "SAFETY:"]))
    }

    /// Paths, macros and `unsafe` in the tokens of a macro, whose grammar is unknown.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut statement = tokens.first().map_or(1, |token| token.span().start().line);
        let mut i = 0;
        while i < tokens.len() {
            let line = tokens[i].span().start().line;
            match &tokens[i] {
                TokenTree::Ident(ident) if *ident == "unsafe" => {
                    let kind = match tokens.get(i + 1) {
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                            Some(UnsafeKind::Block)
                        }
                        Some(TokenTree::Ident(next)) if *next == "impl" => Some(UnsafeKind::Impl),
                        Some(TokenTree::Ident(next)) if *next == "trait" => Some(UnsafeKind::Trait),
                        // `unsafe fn(...)` without a name is a type.
                        Some(TokenTree::Ident(next))
                            if *next == "fn" && !matches!(tokens.get(i + 2), Some(TokenTree::Group(_))) =>
                        {
                            Some(UnsafeKind::Fn)
                        }
                        _ => None,
                    };
                    if let Some(kind) = kind {
                        let marks: &[&str] =
                            if kind == UnsafeKind::Fn { &["# Safety", "SAFETY:"] } else { &["SAFETY:"] };
                        let stated = kind == UnsafeKind::Fn && self.contract_above;
                        let documented =
                            stated || [line, statement].iter().any(|&line| self.comment_above(line, marks));
                        self.push(line, What::Unsafe { kind, documented });
                    }
                    i += 1;
                }
                TokenTree::Ident(_) => {
                    let (segments, next) = token_path(&tokens, i);
                    match (tokens.get(next), tokens.get(next + 1)) {
                        (Some(TokenTree::Punct(bang)), Some(TokenTree::Group(group))) if bang.as_char() == '!' => {
                            let name = segments.last().cloned().unwrap_or_default();
                            self.push(line, What::Macro { name, argument: first_string(&group.stream()) });
                        }
                        _ => self.push_path(&segments, line),
                    }
                    i = next;
                }
                TokenTree::Group(group) => {
                    self.scan(group.stream());
                    i += 1;
                    if group.delimiter() == Delimiter::Brace {
                        statement = tokens.get(i).map_or(line, |token| token.span().start().line);
                    }
                }
                TokenTree::Punct(punct) => {
                    i += 1;
                    if matches!(punct.as_char(), ';' | ',') {
                        statement = tokens.get(i).map_or(line, |token| token.span().start().line);
                    }
                }
                TokenTree::Literal(_) => i += 1,
            }
        }
    }
}

/// The segments of the path that starts at token `start`, and the index after it.
fn token_path(tokens: &[TokenTree], start: usize) -> (Vec<String>, usize) {
    let is_colon = |i: usize| matches!(tokens.get(i), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    let mut segments = vec![tokens[start].to_string()];
    let mut next = start + 1;
    while is_colon(next) && is_colon(next + 1) {
        let Some(TokenTree::Ident(ident)) = tokens.get(next + 2) else { break };
        segments.push(ident.to_string());
        next += 3;
    }
    (segments, next)
}

/// The first token, if it is a string literal, without its quotes.
fn first_string(tokens: &TokenStream) -> Option<String> {
    match tokens.clone().into_iter().next()? {
        TokenTree::Literal(literal) => Some(literal.to_string().trim_matches('"').to_owned()),
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attrs: &[Attribute] = match item {
            Item::Mod(module) => &module.attrs,
            Item::Fn(function) => &function.attrs,
            Item::Impl(block) => &block.attrs,
            Item::Use(item) => &item.attrs,
            _ => &[],
        };
        self.within(item.span().start().line, attrs, |v| visit::visit_item(v, item));
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        self.within(stmt.span().start().line, &[], |v| visit::visit_stmt(v, stmt));
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        self.within(arm.span().start().line, &[], |v| visit::visit_arm(v, arm));
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        self.within(item.span().start().line, &[], |v| visit::visit_impl_item(v, item));
    }

    fn visit_attribute(&mut self, attr: &'ast Attribute) {
        if attr.path().is_ident("ignore") {
            self.push(attr.span().start().line, What::Ignore);
        }
        visit::visit_attribute(self, attr);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let public = !matches!(item.vis, Visibility::Inherited);
        let mut found = Vec::new();
        leaves(&item.tree, &mut Vec::new(), &mut |path, _, line| found.push((path, line)));
        for (path, line) in found {
            if public && path.ends_with("::*") {
                self.push(line, What::GlobReexport);
            }
            self.push(line, What::Path(path));
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.push_path(&segments, path.span().start().line);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast Macro) {
        let name = mac.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        self.push(mac.span().start().line, What::Macro { name, argument: first_string(&mac.tokens) });
        self.scan(mac.tokens.clone());
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.push(call.method.span().start().line, What::Method(call.method.to_string()));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_unsafe(&mut self, expr: &'ast ExprUnsafe) {
        self.unsafety(UnsafeKind::Block, Some(expr.unsafe_token), &expr.attrs);
        visit::visit_expr_unsafe(self, expr);
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.unsafety(UnsafeKind::Fn, item.sig.unsafety, &item.attrs);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.unsafety(UnsafeKind::Fn, item.sig.unsafety, &item.attrs);
        let test = usize::from(is_test_only(&item.attrs));
        self.test_depth += test;
        visit::visit_impl_item_fn(self, item);
        self.test_depth -= test;
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.unsafety(UnsafeKind::Fn, item.sig.unsafety, &item.attrs);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.unsafety(UnsafeKind::Impl, item.unsafety, &item.attrs);
        // The trait's own text states the contract of a method that implements it.
        let inherited = item.trait_.is_some() || states_safety(&item.attrs);
        self.under_contract(inherited, |v| visit::visit_item_impl(v, item));
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.unsafety(UnsafeKind::Trait, item.unsafety, &item.attrs);
        self.under_contract(states_safety(&item.attrs), |v| visit::visit_item_trait(v, item));
    }

    fn visit_item_foreign_mod(&mut self, item: &'ast ItemForeignMod) {
        self.unsafety(UnsafeKind::Extern, item.unsafety, &item.attrs);
        visit::visit_item_foreign_mod(self, item);
    }
}
