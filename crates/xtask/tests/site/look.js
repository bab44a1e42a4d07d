// Opens each page in a frame of each width, with each theme, and reports what a reader cannot read. The address has the lists:
//
//     /look?page,page;width,width;theme,theme;word,word
//
// The result: the number of looks, and a line for each problem and each search.
"use strict";

const [pages, widths, themes, words] = decodeURIComponent(location.search.slice(1)).split(";").map(list => list.split(","));
const frame = document.querySelector("iframe");
frame.style.border = "0";
frame.height = 900;

// Elements that may scroll sideways: code, tables, charts.
const SCROLLERS = "pre, pre code, .table-wrapper, .wide";
// The least contrast of a text of ordinary size (WCAG 2.1, 1.4.3), and that of code, whose colours the themes choose.
const CONTRAST = 4.5, CONTRAST_OF_CODE = 3;
// The least size of a text in pixels, also in charts.
const SIZE = 9;

async function open(path) {
	await new Promise(loaded => {
		frame.onload = loaded;
		frame.src = path;
	});
	const style = frame.contentDocument.createElement("style");
	style.textContent = "* { transition: none !important; animation: none !important; }";
	frame.contentDocument.head.append(style);
	await frame.contentDocument.fonts.ready;
}

function called(element) {
	const name = element.className && typeof element.className === "string" ? "." + element.className.trim().replace(/\s+/g, ".") : "";
	return element.tagName.toLowerCase() + name + " (" + element.textContent.trim().replace(/\s+/g, " ").slice(0, 50) + ")";
}

// Reads a colour as the browser writes it: red, green and blue from 0 to 255, and the opacity from 0 to 1.
function colour(text) {
	const numbers = text.match(/[\d.]+/g).map(Number);
	return numbers.length === 3 ? [...numbers, 1] : numbers;
}

function luminance([red, green, blue]) {
	const part = value => value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
	return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
}

// The colour behind an element's text: the backgrounds of the elements around it and of its own, the outermost first, laid over each other.
function ground(element, style) {
	const colours = [];
	for (let at = element; at; at = at.parentElement)
		colours.unshift(colour(style(at).backgroundColor));
	return colours.reduce((below, above) => below.map((value, i) => value * (1 - above[3]) + above[i] * above[3]), [255, 255, 255]);
}

function contrast(element, style) {
	const below = ground(element, style), over = colour(style(element).color);
	const [light, dark] = [over.slice(0, 3).map((value, i) => value * over[3] + below[i] * (1 - over[3])), below].map(luminance).sort((a, b) => b - a);
	return (light + 0.05) / (dark + 0.05);
}

// The problems of a page, or of a part of it.
function problems(part = "body") {
	const view = frame.contentWindow, page = view.document, found = new Set();
	const style = element => view.getComputedStyle(element);
	const sidebar = page.querySelector(".sidebar"), is_open = page.documentElement.classList.contains("sidebar-visible") ||
		page.querySelector("#mdbook-sidebar-toggle-anchor")?.checked;
	const is_seen = element => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
		(is_open || !sidebar?.contains(element)) && !element.closest(".nav-chapters, .mobile-nav-chapters, script, .sr-only, .header-in-summary");

	if (page.documentElement.scrollWidth > view.innerWidth)
		found.add("the page scrolls sideways: " + page.documentElement.scrollWidth);
	for (const element of page.querySelectorAll(part + " *")) {
		if (!is_seen(element) || element.closest("svg"))
			continue;
		const { overflowX, overflowY } = style(element);
		const is_wide = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0;
		const is_high = element.scrollHeight > element.clientHeight + 1 && element.clientHeight > 0;
		const has_text = element.textContent.trim() !== "";
		if (is_wide && ["auto", "scroll"].includes(overflowX) && !element.matches(SCROLLERS))
			found.add("scrolls sideways: " + called(element));
		if (has_text && (is_wide && ["hidden", "clip"].includes(overflowX) || is_high && ["hidden", "clip"].includes(overflowY)))
			found.add("is cut: " + called(element));
	}

	const texts = page.createTreeWalker(page.querySelector(part), NodeFilter.SHOW_TEXT), range = page.createRange();
	for (let text = texts.nextNode(); text; text = texts.nextNode()) {
		const element = text.parentElement;
		if (text.data.trim() === "" || !is_seen(element))
			continue;
		range.selectNodeContents(text);
		const box = range.getBoundingClientRect();
		const around = element.closest(SCROLLERS) ?? element;
		const is_in_scroller = around !== element || element.matches(SCROLLERS);
		const in_sidebar = sidebar?.contains(element);
		const right = in_sidebar ? sidebar.getBoundingClientRect().right : view.innerWidth;
		if (box.width > 0 && !is_in_scroller && (box.left < -0.5 || box.right > right + 0.5))
			found.add("is outside: " + called(element));
		const size = parseFloat(style(element).fontSize) * (element.getScreenCTM?.().a ?? 1);
		if (box.width > 0 && size < SIZE)
			found.add("is small, " + size.toFixed(1) + ": " + called(element));
		if (!element.closest("svg") && box.width > 0) {
			const least = element.closest("pre") ? CONTRAST_OF_CODE : CONTRAST, is = contrast(element, style);
			if (is < least)
				found.add("is hard to read, " + is.toFixed(1) + ": " + called(element));
		}
	}
	return found;
}

// Searches for words: the pages of the first five results. The search has ended when the line about its results has a text.
async function search(words) {
	await open("index.html?search=" + encodeURIComponent(words));
	const page = frame.contentDocument;
	for (;;) {
		const header = page.querySelector("#mdbook-searchresults-header")?.textContent.trim();
		if (header && /result/.test(header)) {
			// "page » page » heading"
			const links = [...page.querySelectorAll("#mdbook-searchresults li > a")];
			const is_whole = links.every(link => link.textContent.split("»").every(part => part.trim() !== ""));
			const pages = links.slice(0, 5).map(link => link.pathname.slice(1)).join(" ");
			return [links.length === 0 ? "nothing" : is_whole ? pages : "results without titles", problems()];
		}
		await new Promise(later => setTimeout(later, 50));
	}
}

async function look() {
	const lines = [];
	let looks = 0;
	for (const width of widths) {
		frame.width = width;
		for (const theme of themes) {
			localStorage.setItem("mdbook-theme", theme);
			for (const path of pages) {
				await open(path);
				const where = path + " at " + width + ", " + theme + ": ", view = frame.contentWindow;
				if (view.innerWidth != width || !view.document.documentElement.classList.contains(theme))
					lines.push(where + "has another width or theme");
				for (const problem of problems())
					lines.push(where + problem);
				looks++;
			}
		}
		// Looks at the list of pages. On a phone, it moves the page aside when a touch opens it.
		await open(pages[0]);
		const toggle = frame.contentDocument.querySelector("#mdbook-sidebar-toggle-anchor");
		if (!toggle.checked)
			toggle.click();
		for (const problem of problems(".sidebar"))
			lines.push("list of pages at " + width + ": " + problem);
		for (const word of words) {
			const [result, of_results] = await search(word);
			lines.push("search " + word + " at " + width + ": " + result);
			for (const problem of of_results)
				lines.push("results of " + word + " at " + width + ": " + problem);
		}
	}
	return looks + " looks\n" + lines.join("\n");
}

look().catch(error => "failed: " + error + "\n" + error.stack).then(result => fetch("/result", { method: "POST", body: result }));
