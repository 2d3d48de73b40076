"""Words that say nothing about what somebody looks for; a query leaves them out. Few, as rare words outweigh them."""

from typing import Final

# English; German; French; Spanish, Portuguese, Italian; Dutch; Russian; Turkish, Polish; Chinese and Japanese, of which
# pairs of characters are compared.
_LISTS: Final = """
a about after again all also am an and any are as at be been before being but by can cannot could did do does doing
don down each few for from further get give go had has have having he hello help her here hers hey hi him his how i
if in into is isn it its just know let like many may me might mine more most much must my need no nor not now of off
ok okay on once one only or other our ours out over own please put say she should so some still such tell than thank
thanks that the their them then there these they this those through to too under until up us very want was we well
were what when where which while who whom whose why will with without would yes yet you your yours ll ve re does
somebody anybody everybody something anything

aber alle als also am an auch auf aus bei beim bin bis bist bitte da damit dann danke das dass dem den denn der des
die dies diese dieser dieses doch du durch ein eine einem einen einer eines er es etwas euch fur ganz gibt habe
haben hallo hast hat hatte hier ich ihm ihn ihr ihre im in ist ja jetzt kann kannst konnen man mal mein meine mich
mir mit muss nach nein nicht noch nun nur ob oder ohne schon sehr sein sich sie sind so soll uber um und uns unser
unsere unter viel vom von vor wann war waren warum was weil welche welchem welcher welches wenn wer werden wie
wieder will wir wird wo wurde zu zum zur

ai as au aux avec avez avons ce cela ces cet cette ceux comme comment dans de des du elle elles en encore est et
etait ete etre eu il ils je la le les leur leurs lui ma mais me mes mon ne nos notre nous on ont ou par pas plus
pour pourquoi qu quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sur ta te tes toi ton tu un
une vos votre vous bonjour merci

al algo como con cual cuales cuando cuanto de del desde donde el ella ellos en era es esa ese eso esta este esto
estos fue hay hola la las le les lo los mas me mi mis muy nos o para pero por porque puede que quien se ser si sin
sobre son su sus te tiene tu un una uno unos y ya yo ao aos da das dos e ela ele em essa isso nao na nas no os ou
pela pelo qual quais sao seu sua tem uma voce alla che chi ci come cosa dei della delle di dove gli ha ho il io mio
nel nella non per piu quale quando quanto questo sei si sono sul sulla tra va vi

aan bij deze die dit een er geen haar heb hebben heeft het hij hoe ik is je kan maar mijn naar niet nog of ook om
onze op te tot uit van voor waar wat we wel wie wij worden ze zich zij zijn

а без был была были было быть в вам вас весь во вот все вы где да для до его ее если есть еще же за и из или им их к
как какой когда кто ли мне мы на над не нет но о об он она они от очень по под при с сам со так там те то того тоже
только ты у уже чем что чтобы это этот я

bir bu da de icin ile mi mu ne nasil ve var ale co czy do gdzie i jak jest kiedy kto ma na nie o od po sie sa to w z
za ze

什么 怎么 么时 时候 哪里 那里 这里 谁那 我们 你们 他们 可以 是什 多少 请问 一下 还是 没有
为什
吗 呢 的 了 是 在 です ます した する ある いる どこ いつ なに どう 何時 何曜 です か
"""  # noqa: RUF001 - the letters of other alphabets are meant

STOP_WORDS: Final = frozenset(_LISTS.split())
"""Stop words in the form of `words_of`: without case and accents."""
