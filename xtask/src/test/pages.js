// Measures the page in the frame, and puts what it found into the title.
function measured() {
  const frame = document.querySelector('iframe');
  const page = frame.contentDocument, view = frame.contentWindow, width = frame.clientWidth;
  const small = [], outside = [], overlapping = [], texts = [];
  const walk = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, parent = node.parentElement, text = node.data.trim().slice(0, 40);
    const range = page.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter(box => box.width > 0.5 && box.height > 0.5);
    if (!text || parent.closest('style, title') || !boxes.length) continue;
    const scale = parent.getScreenCTM ? parent.getScreenCTM().a : 1;
    if (parseFloat(view.getComputedStyle(parent).fontSize) * scale < 11.99) small.push(text);
    boxes.forEach(box => texts.push([text, box]));
  }
  const across = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]);
  texts.forEach(([text, box], i) => {
    if (box.right > width + 1 || box.left < -1) outside.push(text);
    for (const [other, one] of texts.slice(0, i)) {
      // Lines of one paragraph touch.
      if (across(box, one, 'left', 'right') > 1 && across(box, one, 'top', 'bottom') > 3) overlapping.push([text, other]);
    }
  });
  const wider = page.documentElement.scrollWidth > width;
  return {texts: texts.length, wider, small, outside, overlapping};
}
window.onload = () => { document.title = JSON.stringify(measured()); };
