"""Texts of error pages, walls and real pages in twelve languages, written for this benchmark.

``TUNED`` were looked at while thresholds were chosen; ``HELD_BACK`` were not.
"""

# ruff: noqa: E501 - wide characters
from __future__ import annotations

from typing import NamedTuple


class Language(NamedTuple):
    """The texts of one language.

    :param error: title and message of an error page.
    :param help: further sentences of a long one.
    :param echo: a message that repeats the URL.
    :param wall: title and text of a consent or ban page.
    :param menu: of each page.
    :param words: of real pages.
    """

    error: tuple[str, str]
    help: str
    echo: str
    wall: tuple[str, str]
    menu: str
    words: str
    between: str = " "


TUNED = {
    "en": Language(
        ("Page not found", "Sorry, we could not find the page you were looking for."),
        "It may have been moved to another address, renamed, or taken down by its author. Check the "
        "spelling of the address, go back to where you came from, use the search box at the top, "
        "or write to our readers' desk if you think that something here is broken.",
        "Nothing was found at {url}, please check the address.",
        ("One moment", "Please accept our terms and cookies before you read on."),
        "News Weather Sport Shop Contact",
        "harbour window carpet river engine lantern bridge orchard ticket mountain signal copper "
        "garden winter pepper captain letter market basket silver tunnel meadow anchor kettle",
    ),
    "de": Language(
        ("Seite nicht gefunden", "Leider gibt es die gewünschte Seite nicht mehr."),
        "Vielleicht wurde sie verschoben, umbenannt oder von der Redaktion gelöscht. Prüfen Sie die "
        "Schreibweise der Adresse, gehen Sie einen Schritt zurück, nutzen Sie die Suche oben auf der "
        "Seite oder schreiben Sie uns, wenn Sie glauben, dass hier etwas kaputt ist.",
        "Unter {url} wurde nichts gefunden, bitte prüfen Sie die Adresse.",
        ("Einen Moment", "Bitte stimmen Sie den Bedingungen zu, bevor Sie weiterlesen."),
        "Nachrichten Wetter Sport Laden Kontakt",
        "Hafen Fenster Teppich Fluss Motor Laterne Brücke Garten Fahrkarte Berg Signal Kupfer Winter "
        "Pfeffer Kapitän Brief Markt Korb Silber Tunnel Wiese Anker Kessel Himmel",
    ),
    "ru": Language(
        ("Страница не найдена", "К сожалению, такой страницы у нас больше нет."),
        "Возможно, её перенесли, переименовали или удалили авторы. Проверьте адрес, вернитесь назад, "
        "воспользуйтесь поиском вверху страницы или напишите в редакцию, если вам кажется, что "
        "здесь что-то сломалось, и мы постараемся ответить как можно скорее.",
        "По адресу {url} ничего нет, проверьте его, пожалуйста.",
        ("Подождите", "Примите условия использования, прежде чем читать дальше."),
        "Новости Погода Спорт Магазин Контакты",
        "гавань окно ковёр река мотор фонарь мост сад билет гора сигнал медь зима перец капитан "
        "письмо рынок корзина серебро тоннель луг якорь чайник небо",
    ),
    "zh": Language(
        ("页面不存在", "抱歉,您要访问的页面已经找不到了。"),
        "它可能已经移到别的地址,改了名字,或者被作者删除。请检查地址的拼写,返回上一页,使用页面上方的"
        "搜索框,或者写信告诉我们的读者服务部门,我们会尽快回复您的来信并修复出现的问题。",
        "在{url}没有找到任何内容,请检查地址。",
        ("请稍候", "继续阅读之前,请先接受我们的使用条款。"),
        "新闻 天气 体育 商店 联系",
        "港口 窗户 地毯 河流 发动机 灯笼 大桥 花园 车票 高山 信号 铜器 冬天 胡椒 船长 信件 市场 篮子 "
        "白银 隧道 草地 铁锚 水壶 天空",
        "",
    ),
}
HELD_BACK = {
    "es": Language(
        ("Página no encontrada", "Lo sentimos, no encontramos la página que busca."),
        "Puede que se haya movido a otra dirección, que tenga otro nombre o que su autor la haya "
        "retirado. Revise cómo está escrita la dirección, vuelva atrás, use el buscador de arriba o "
        "escriba a la redacción si piensa que aquí hay algo roto.",
        "No hay nada en {url}, revise la dirección.",
        ("Un momento", "Acepte las condiciones antes de seguir leyendo, por favor."),
        "Noticias Tiempo Deportes Tienda Contacto",
        "puerto ventana alfombra río motor farol puente huerto billete montaña señal cobre jardín "
        "invierno pimienta capitán carta mercado cesta plata túnel prado ancla tetera",
    ),
    "ja": Language(
        ("ページが見つかりません", "申し訳ありません。お探しのページは見つかりませんでした。"),
        "別のアドレスに移動したか、名前が変わったか、削除された可能性があります。アドレスの綴りを確認するか、"
        "前のページに戻るか、上の検索欄をお使いください。何かが壊れているとお考えの場合は、読者窓口まで"
        "お知らせください。できるだけ早くお返事します。",
        "{url}には何もありません。アドレスをご確認ください。",
        ("少々お待ちください", "続きを読む前に、利用規約に同意してください。"),
        "ニュース 天気 スポーツ 店 連絡先",
        "港 窓 絨毯 川 機関 提灯 橋 果樹園 切符 山 信号 銅 庭 冬 胡椒 船長 手紙 市場 籠 銀 隧道 草原 錨 薬缶",
        "の",
    ),
    "hi": Language(
        ("पृष्ठ नहीं मिला", "क्षमा करें, आप जो पृष्ठ खोज रहे थे वह हमें नहीं मिला।"),
        "हो सकता है कि उसे किसी दूसरे पते पर ले जाया गया हो, उसका नाम बदल दिया गया हो या लेखक ने उसे हटा "
        "दिया हो। पते की वर्तनी जाँचें, पिछले पृष्ठ पर लौटें, ऊपर दी गई खोज का उपयोग करें या हमें लिखें।",
        "{url} पर कुछ नहीं मिला, कृपया पता जाँचें।",
        ("एक क्षण", "आगे पढ़ने से पहले कृपया हमारी शर्तें स्वीकार करें।"),
        "समाचार मौसम खेल दुकान संपर्क",
        "बंदरगाह खिड़की कालीन नदी इंजन लालटेन पुल बाग टिकट पहाड़ संकेत ताँबा सर्दी मिर्च कप्तान चिट्ठी बाज़ार "
        "टोकरी चाँदी सुरंग घास लंगर केतली आकाश",
    ),
    "el": Language(
        ("Η σελίδα δεν βρέθηκε", "Λυπούμαστε, δεν βρήκαμε τη σελίδα που ζητήσατε."),
        "Ίσως μεταφέρθηκε σε άλλη διεύθυνση, μετονομάστηκε ή αφαιρέθηκε από τον συντάκτη της. Ελέγξτε "
        "την ορθογραφία της διεύθυνσης, γυρίστε πίσω, χρησιμοποιήστε την αναζήτηση ή γράψτε μας αν "
        "νομίζετε ότι κάτι χάλασε εδώ.",
        "Δεν υπάρχει τίποτα στο {url}, ελέγξτε τη διεύθυνση.",
        ("Μια στιγμή", "Αποδεχτείτε τους όρους πριν συνεχίσετε την ανάγνωση."),
        "Νέα Καιρός Αθλητικά Κατάστημα Επικοινωνία",
        "λιμάνι παράθυρο χαλί ποτάμι μηχανή φανάρι γέφυρα περιβόλι εισιτήριο βουνό σήμα χαλκός κήπος "
        "χειμώνας πιπέρι καπετάνιος γράμμα αγορά καλάθι ασήμι σήραγγα λιβάδι άγκυρα ουρανός",
    ),
    "ko": Language(
        ("페이지를 찾을 수 없습니다", "죄송합니다. 찾으시는 페이지가 없습니다."),
        "다른 주소로 옮겨졌거나 이름이 바뀌었거나 글쓴이가 지웠을 수 있습니다. 주소를 다시 확인하시거나 "
        "이전 페이지로 돌아가시거나 위의 검색창을 이용해 주십시오. 고장이라고 생각하시면 독자 담당자에게 "
        "알려 주십시오. 되도록 빨리 답장을 드리겠습니다.",
        "{url} 에는 아무것도 없습니다. 주소를 확인해 주십시오.",
        ("잠시만요", "계속 읽으시려면 먼저 이용 약관에 동의해 주십시오."),
        "뉴스 날씨 스포츠 상점 연락처",
        "항구 창문 양탄자 강물 엔진 등불 다리 과수원 승차권 산맥 신호 구리 정원 겨울 후추 선장 편지 시장 "
        "바구니 은화 터널 초원 닻줄 주전자",
    ),
    "tr": Language(
        ("Sayfa bulunamadı", "Üzgünüz, aradığınız sayfayı bulamadık."),
        "Başka bir adrese taşınmış, adı değişmiş ya da yazarı tarafından kaldırılmış olabilir. Adresin "
        "yazılışını denetleyin, geri dönün, yukarıdaki arama kutusunu kullanın ya da burada bir şeyin "
        "bozuk olduğunu düşünüyorsanız bize yazın.",
        "{url} adresinde bir şey yok, lütfen adresi denetleyin.",
        ("Bir dakika", "Okumayı sürdürmeden önce lütfen koşulları kabul edin."),
        "Haberler Hava Spor Dükkân İletişim",
        "liman pencere halı nehir motor fener köprü bahçe bilet dağ işaret bakır kış biber kaptan "
        "mektup çarşı sepet gümüş tünel çayır çapa çaydanlık gökyüzü",
    ),
    "th": Language(
        ("ไม่พบหน้านี้", "ขออภัย เราไม่พบหน้าที่คุณกำลังมองหา"),
        "หน้านี้อาจถูกย้ายไปที่อยู่อื่น เปลี่ยนชื่อ หรือถูกลบโดยผู้เขียน โปรดตรวจสอบการสะกดของที่อยู่ "
        "กลับไปยังหน้าก่อน ใช้ช่องค้นหาด้านบน หรือเขียนถึงฝ่ายผู้อ่านของเราหากคุณคิดว่ามีบางอย่างเสีย",
        "ไม่พบสิ่งใดที่ {url} โปรดตรวจสอบที่อยู่",
        ("สักครู่", "โปรดยอมรับข้อกำหนดของเราก่อนอ่านต่อ"),
        "ข่าว อากาศ กีฬา ร้านค้า ติดต่อ",
        "ท่าเรือ หน้าต่าง พรม แม่น้ำ เครื่องยนต์ โคมไฟ สะพาน สวนผลไม้ ตั๋ว ภูเขา สัญญาณ ทองแดง ฤดูหนาว พริกไทย "
        "กัปตัน จดหมาย ตลาด ตะกร้า เงิน อุโมงค์ ทุ่งหญ้า สมอ กาน้ำ ท้องฟ้า",
    ),
    "he": Language(
        ("הדף לא נמצא", "מצטערים, לא מצאנו את הדף שחיפשתם."),
        "ייתכן שהוא הועבר לכתובת אחרת, ששמו שונה או שהמחבר הסיר אותו. בדקו את איות הכתובת, חזרו אחורה, "
        "השתמשו בתיבת החיפוש שלמעלה או כתבו לנו אם נראה לכם שמשהו כאן התקלקל, ונשתדל להשיב מהר.",
        "לא נמצא דבר בכתובת {url}, בדקו אותה בבקשה.",
        ("רגע אחד", "אשרו את התנאים לפני שתמשיכו לקרוא."),
        "חדשות מזג ספורט חנות קשר",
        "נמל חלון שטיח נהר מנוע פנס גשר פרדס כרטיס הר אות נחושת גינה חורף פלפל קברניט מכתב שוק סל כסף "
        "מנהרה אחו עוגן קומקום",
    ),
}
