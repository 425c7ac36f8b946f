"""Opens an attention page in headless Chromium and compares what it shows with the numbers.

Usage: page_test.py WRITE_PAGE
       page_test.py PAGE.html NUMBERS.json
The first writes a page from made-up attention. The second takes any page of `heed attend --html` with
rollout, entropy and importance, and the numbers of the RPC: {"tokens": [pieces], "shape": [layers,
heads, rows, columns], "raw", "rollout", "entropy", "importance": flat lists, "text"}.
Needs Chromium (CHROMIUM, default /usr/bin/chromium) and Playwright, which
deploy/install-deps.sh --tests puts into third_party/playwright."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright


class Checks:

  def __init__(self, page, numbers):
    self.page = page
    self.numbers = numbers
    self.layers, self.heads, self.rows, self.columns = numbers['shape']

  def raw(self, layer, head, row, column):
    at = ((layer * self.heads + head) * self.rows + row) * self.columns + column
    return self.numbers['raw'][at]

  def readout(self):
    return self.page.locator('#readout').evaluate('e => ({...e.dataset, said: e.textContent})')

  def shown(self):
    """Numbers of the table, with all their digits."""
    return [float(v) for v in self.page.locator('#numbers td[data-value]').evaluate_all(
        'all => all.map(e => e.dataset.value)')]

  def same(self, found, wanted):
    assert len(found) == len(wanted), (len(found), len(wanted))
    for a, b in zip(found, wanted):
      assert abs(a - b) <= 1e-7 * max(1, abs(b)), (a, b)

  def kind(self, kind):
    self.page.locator(f'input[value={kind}]').check()

  def opens(self):
    assert self.page.locator('#from [role=option]').all_text_contents() == self.numbers['tokens']
    assert self.page.locator('#model [role=gridcell]').count() == self.layers * self.heads
    # A token that looks like markup is text, and the text is there as it was sent.
    assert self.page.locator('body b').count() == 0
    text = self.page.locator('#text').evaluate(
        'e => [...e.childNodes].filter(n => n.className !== "special").map(n => n.textContent).join("")')
    assert text == self.numbers['text'], text
    values = self.page.locator('#text [role=button]').evaluate_all('a => a.map(e => e.dataset.value)')
    self.same([float(v) for v in values], self.numbers['importance'])
    last = self.layers - 1
    self.same(self.shown(), [self.raw(last, 0, 0, c) for c in range(self.columns)])

  def hover(self):
    last = self.layers - 1
    self.page.locator('#from [role=option]').nth(2).hover()
    self.same(self.shown(), [self.raw(last, 0, 2, c) for c in range(self.columns)])
    self.page.locator('#to [role=option]').nth(4).hover()
    readout = self.readout()
    assert (readout['from'], readout['to']) == ('2', '4'), readout
    self.same([float(readout['value'])], [self.raw(last, 0, 2, 4)])
    assert f'{self.raw(last, 0, 2, 4):.4f}' in readout['said'], readout
    painted = self.page.locator('#lines').evaluate(
        'e => e.getContext("2d").getImageData(0, 0, e.width, e.height).data.some(v => v > 0)')
    assert painted, 'no lines were drawn'

  def switches(self):
    self.page.locator('#layer').select_option('0')
    self.page.locator('#head').select_option('1')
    row = int(self.readout()['from'])
    self.same(self.shown(), [self.raw(0, 1, row, c) for c in range(self.columns)])
    self.kind('rollout')
    start = row * self.columns
    self.same(self.shown(), self.numbers['rollout'][start:start + self.columns])
    assert self.page.locator('#layer').is_disabled()
    self.kind('entropy')
    start = (0 * self.heads + 1) * self.rows
    self.same(self.shown(), self.numbers['entropy'][start:start + self.rows])
    self.kind('raw')
    self.page.locator('#model [data-layer="1"][data-head="2"]').click()
    self.same(self.shown(), [self.raw(1, 2, row, c) for c in range(self.columns)])

  def keyboard(self):
    press = self.page.keyboard.press
    focused = lambda: self.page.evaluate('({...document.activeElement.dataset})')
    # One stop of the Tab key a widget.
    for widget in ('#model [role=gridcell]', '#from [role=option]', '#text [role=button]'):
      assert self.page.locator(f'{widget}[tabindex="0"]').count() == 1, widget
    self.page.locator('#model [tabindex="0"]').focus()
    press('Home')
    press('ArrowUp')
    press('ArrowRight')
    assert focused() == {'layer': '0', 'head': '1'}, focused()
    outline = self.page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    assert outline == 'solid', 'the focus cannot be seen'
    press('Enter')
    readout = self.readout()
    assert (readout['layer'], readout['head']) == ('0', '1'), readout
    self.page.locator('#from [tabindex="0"]').focus()
    press('Home')
    press('ArrowDown')
    assert self.readout()['from'] == '1'
    press('ArrowRight')
    press('ArrowDown')
    readout = self.readout()
    assert (readout['from'], readout['to']) == ('1', '1'), readout
    self.same([float(readout['value'])], [self.raw(0, 1, 1, 1)])
    press('Escape')
    assert self.readout()['to'] == '' and focused() == {'place': '1'}, (self.readout(), focused())

  def accessible(self):
    for cell in self.page.locator('#model [role=gridcell]').all():
      assert cell.get_attribute('aria-label'), 'a thumbnail without a name'
    assert self.page.locator('#readout').get_attribute('aria-live') == 'polite'
    assert self.page.locator('#numbers caption').text_content()
    assert self.page.locator('#numbers th[scope=row]').count() == self.columns


def check(html, numbers):
  with sync_playwright() as playwright:
    browser = playwright.chromium.launch(
        executable_path=os.environ.get('CHROMIUM', '/usr/bin/chromium'), headless=True,
        args=['--no-sandbox', '--headless', '--disable-dev-shm-usage', '--disable-gpu'])
    for scheme in ('light', 'dark'):
      page = browser.new_page(color_scheme=scheme, reduced_motion='reduce')
      page.set_default_timeout(20_000)
      errors, requests = [], []
      page.on('pageerror', lambda error: errors.append(str(error)))
      page.on('console', lambda message: errors.append(message.text)
              if message.type in ('error', 'warning') else None)
      page.on('request', lambda request: requests.append(request.url))
      page.goto(pathlib.Path(html).resolve().as_uri())
      checks = Checks(page, numbers)
      for step in (checks.opens, checks.hover, checks.switches, checks.keyboard, checks.accessible):
        step()
      assert not errors, errors
      assert [url for url in requests if not url.startswith('file:')] == [], requests
      # What the policy promises: even a script that ran could not reach out.
      blocked = page.evaluate('fetch("http://127.0.0.1:9/").then(() => false, () => true)')
      assert blocked
      assert any('Content Security Policy' in e for e in errors), errors
      page.close()
    browser.close()


def main():
  if len(sys.argv) == 3:
    check(sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text(encoding='utf-8')))
    return
  with tempfile.TemporaryDirectory() as folder:
    html, numbers = f'{folder}/page.html', f'{folder}/numbers.json'
    subprocess.run([sys.argv[1], html, numbers], check=True)
    check(html, json.loads(pathlib.Path(numbers).read_text(encoding='utf-8')))


if __name__ == '__main__':
  main()
